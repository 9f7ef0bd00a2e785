"""demo: all of Tocsin on this machine, against built-in stand-ins, in a temporary data directory."""

import argparse
import asyncio
import json
import shlex
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from tocsin.assembly.full.access import open_tokens, sign_in_link
from tocsin.assembly.full.services import monitor, serve
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.channels.registry import discover
from tocsin.cli.commands.services import prepare_service, run_on_uvloop
from tocsin.cli.demo.files import (
    FAILING,
    GREET,
    INBOX,
    PROFILE,
    RELEASE,
    REPORT,
    SITE,
    TEXTS,
    DemoPorts,
    write_files,
)
from tocsin.cli.demo.ssh_host import GROUP, HOSTS, ssh_host
from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import (
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    FRONT_DOOR_PORT,
    GATEWAY_HOST,
    GATEWAY_PORT,
)
from tocsin.core.config.settings import read_env_file
from tocsin.core.errors import ConfigError
from tocsin.core.plugins import load_class
from tocsin.core.process.forking import forked_reapers
from tocsin.core.process.git import GitProgram
from tocsin.core.process.starting import running
from tocsin.features.doors.model import DoorNameTakenError
from tocsin.features.workflows.requests import AlreadyRunningError
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunTrigger
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.packages import EXTRAS, how_to_install, is_installed
from tocsin.terminal.text import own_command
from tocsin.web.access.tokens import UnknownTokenError

if TYPE_CHECKING:
    from tocsin.core.audit.actions import AuditAction
    from tocsin_standins.cluster import StandinCluster
    from tocsin_standins.recorder import RecordedRequest

PARTS = frozenset({"gateway", "bot", "dashboard", "scheduler"})
AGENT = "agent"  # name of the token for MCP
WORD_S = 0.1  # pause between the words of the stand-in model, so that the answer visibly grows
# Try the default ports first, so that examples in the documentation work.
USUAL_PORTS = (GATEWAY_PORT.default, DASHBOARD_PORT.default, FRONT_DOOR_PORT.default)
DOOR = "nas"  # name of the door for other tools


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin demo"
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace, options: Options, out: Console) -> int:
    if missing := [name for name, (extra, _) in EXTRAS.items() if extra == "demo" and not is_installed(name)]:
        raise ConfigError(f"the demo needs more packages: {', '.join(missing)}", hint=how_to_install(missing[0]))
    from tocsin_standins.cluster import open_standins

    async def main(directory: Path) -> None:
        _end_on_hangup()
        further = [load_class(channel.standin) for channel in discover().classes if channel.standin]
        async with (
            open_standins(further=further) as cluster,
            _redis(directory) as redis_url,
            ssh_host(directory, _free_port(0)),
        ):
            cluster.recorder.on_message(partial(_show, out, cluster))
            cluster.chatmodel.pause_s = WORD_S
            for wanted in (USUAL_PORTS, (0, 0, 0)):
                ports = DemoPorts(*(_free_port(port) for port in wanted))
                env_file = write_files(directory, cluster, ports, redis_url)
                settings, installed = load_settings(env_file=env_file, environ={})
                if which("git") and not (directory / SITE / ".git").exists():  # for task jobs
                    await GitProgram(settings.inheritable, directory).create(directory / SITE)
                prepare_service(settings, options)
                try:
                    opened = open_app(settings, installed, direct_transport, monitor(PARTS))
                    async with forked_reapers(), opened as app:
                        app.audit.observe(partial(_show_rule, cluster))
                        link = await sign_in_link(app, f"http://{DASHBOARD_HOST.default}:{ports.dashboard}")
                        await _fill_documents(app, cluster)
                        await _start_runs(app)
                        access = DemoAccess(link, await _agent_token(app), await _door(app))
                        welcome = partial(_welcome, out, cluster, env_file, redis_url, access)
                        await serve(app, PARTS, welcome)
                    return
                except ConfigError:  # another program took a port meanwhile
                    if not any(wanted):
                        raise

    with TemporaryDirectory(prefix="tocsin-demo-") as directory:
        run_on_uvloop(main(Path(directory)))
    out.aside("\nThe demo has ended and deleted its data directory.")
    return DONE


def _end_on_hangup() -> None:
    """Let closing the terminal end the demo as Ctrl-C does, so that it cleans up."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, signal.raise_signal, signal.SIGTERM)


@asynccontextmanager
async def _redis(directory: Path) -> AsyncIterator[str]:
    """Run a Redis for the demo if one is installed; yield its URL, or `off`."""
    server = which("redis-server")
    if server is None:
        yield "off"
        return
    port = str(_free_port(0))
    options = ["--port", port, "--bind", GATEWAY_HOST.default, "--dir", str(directory), "--appendonly", "yes"]
    async with running([server, *options, "--save", "", "--loglevel", "warning"]):
        yield f"redis://{GATEWAY_HOST.default}:{port}/0"


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        try:
            with socket.create_server((GATEWAY_HOST.default, port)) as probe:
                return int(probe.getsockname()[1])
        except OSError:
            continue
    raise ConfigError("no free port on loopback", hint="stop a program that uses many ports")


class DemoAccess(NamedTuple):
    """The sign-in link of a person and the token of an agent in the demo."""

    link: str  # signs in once
    token: str  # of an agent that may read, and send to the profile
    door: str  # address at which other tools report


async def _agent_token(app: App) -> str:
    tokens, caller = open_tokens(app), Caller(CLI.name)
    with suppress(UnknownTokenError):  # made before a port was found to be taken
        await tokens.revoke(AGENT, caller)
    return (await tokens.create(AGENT, ("read", "send"), caller, [PROFILE]))[1]


async def _door(app: App) -> str:
    doors, caller = app.features.opened("doors"), Caller(CLI.name)
    try:
        address = await doors.add(DOOR, {"profile": PROFILE}, caller)
    except DoorNameTakenError:  # made before a port was found to be taken
        address = await doors.rotate(DOOR, caller)
    return str(address.url)


async def _fill_documents(app: App, cluster: "StandinCluster") -> None:
    """Store what channels keep, such as the keys of a device."""
    for standin in cluster.further:
        if text := standin.document():
            await app.stores.document(standin.channel).change(partial(_kept_text, text))


def _kept_text(text: str, _: str) -> str:
    return text


async def _start_runs(app: App) -> None:
    """Start the workflow that waits for a person and the job that fails, as samples of runs."""
    request = StartRequest(source=CLI.name, cause=RunTrigger.MANUAL, actor="demo")
    with suppress(AlreadyRunningError):  # started before a port was found to be taken
        await app.features.abilities.run_starter.start("workflow", RELEASE, request)
    await app.features.abilities.run_starter.start("cron", FAILING, request)


def _welcome(
    out: Console,
    cluster: "StandinCluster",
    env_file: Path,
    redis_url: str,
    access: DemoAccess,
    addresses: Mapping[str, str],
) -> None:
    cluster.connect(addresses["gateway"], TEXTS)
    has_model = find_spec("pydantic_ai") is not None
    commands = _commands(cluster, env_file, addresses["gateway"], has_model=has_model)
    commands.append(_agent_call(addresses["dashboard"], access.token))
    report = json.dumps({"title": "Backup failed", "text": "no space left on /srv", "severity": "critical"})
    commands.append(f"curl -w '\\n' {access.door} -d {shlex.quote(report)}")
    if out.as_json:
        out.document(
            {
                "gateway": addresses["gateway"],
                "dashboard": addresses["dashboard"],
                "sign_in": access.link,
                "door": access.door,
                "page": cluster.page.url,
                "env_file": str(env_file),
                "commands": commands,
            },
        )
        return
    bus = redis_url if redis_url != "off" else "in this process (redis-server is not installed)"
    model = "a stand-in that repeats your messages" if has_model else 'off; pip install "tocsin[chat]"'
    lines = [
        (
            "Tocsin runs on this machine only, needs no account and sends no data to other machines. Press Ctrl-C "
            "to stop."
        ),
        "",
        f"  dashboard           {access.link}   (signs you in once)",
        f"  talk to the bot     {cluster.page.url}   (open it in a browser; it also shows the sent messages)",
        f"  gateway             {addresses['gateway']}",
        f"  door of other tools {access.door}",
        f"  bus                 {bus}",
        "  queue               embedded store (SQLite)",
        f"  chat model          {model}",
        "",
        "Commands to try in another terminal:",
        "",
        *(f"  {command}" for command in commands),
        "",
        "Messages received by the stand-ins:",
        "",
    ]
    for line in lines:
        out.line(line)


def _commands(cluster: "StandinCluster", env_file: Path, gateway: str, *, has_model: bool) -> list[str]:
    """Return commands that can be copied to another terminal and work in any directory."""
    unset = "".join(f" -u {name}" for name in _replaced(env_file))
    tocsin = f"{f'env{unset} ' if unset else ''}{own_command(Options(env_file=env_file))}"
    further = {each.channel: each.sample for each in cluster.further}
    samples = {cluster.product(kind): target for kind, target in cluster.samples().items()}
    channel, target = next(iter(samples.items()))
    body = json.dumps({"channel": channel, "target": target, "message": "hello over HTTP"})
    return [
        f"{tocsin} channels",
        *(f'{tocsin} send {kind} {shlex.quote(to)} "hello"' for kind, to in {**samples, **further}.items()),
        f'{tocsin} notify {PROFILE} "disk 91 % full"',
        f'{tocsin} send {channel} {shlex.quote(target)} "queued" --queue',
        f'{tocsin} publish {channel} {shlex.quote(target)} "hello over the bus"',
        f"{tocsin} deliveries list",
        f"curl -w '\\n' {gateway}/send -H 'Content-Type: application/json' -d {shlex.quote(body)}",
        cluster.say_command(TEXTS[0]),
        f'{tocsin} triggers test "{TEXTS[1]}"',
        f"{tocsin} skills run {GREET} Alice",
        f"{tocsin} workflows run {REPORT}",
        f"date > {shlex.quote(str(env_file.parent / INBOX))}/today; {tocsin} watchers show {INBOX}",
        f"{tocsin} skills run secret-scanner {shlex.quote(str(env_file.parent / SITE / 'settings.py'))}",
        *(
            [f'{tocsin} jobs create "Greet in the readme" --repo {SITE.name} --command "echo Hello >> README.md"']
            if which("git")
            else []
        ),
        f'{tocsin} memory set maintenance-window "Sundays from 02:00 to 04:00 UTC"',
        *([f"{tocsin} ssh run --group {GROUP} uptime"] if (env_file.parent / HOSTS).exists() else []),
        f"{tocsin} browser profiles",
        *([f'{tocsin} ask "What is a tocsin?"'] if has_model else []),
        f"{tocsin} vault init",
        f"head -c 18 /dev/urandom | base64 | {tocsin} vault set DEMO_TOKEN",
        f"{tocsin} vault status",
        f"{tocsin} bot access list",
        f"{tocsin} audit tail",
    ]


def _agent_call(dashboard: str, token: str) -> str:
    """Return a command that sends a message as an agent does, over MCP."""
    params = {"name": "notify", "arguments": {"profile": PROFILE, "text": "The build is green"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = f"-H 'Content-Type: application/json' -H 'Authorization: Bearer {token}'"
    return f"curl -w '\\n' {dashboard}/mcp {headers} -d {shlex.quote(body)}"


def _replaced(env_file: Path) -> list[str]:
    """Return the variables of this shell that would send to real accounts instead of the stand-ins."""
    names = read_env_file(env_file).values
    try:
        sources = load_settings(env_file=env_file)[0].sources
    except ConfigError:  # a malformed setting there would fail every command
        return sorted(names)
    elsewhere = [name for name in names if sources.get(name) != str(env_file)]
    return [f"{name}_FILE" if sources.get(name, "").endswith("_FILE)") else name for name in elsewhere]


# The words for each kind of request to a provider; the page shows every request in full.
_WORDS = {
    "message": "received",
    "response": "received",
    "edit": "edited",
    "inbound": "said",
    "note": "answers",
    "question": "asked",
}


def _show(out: Console, cluster: "StandinCluster", received: "RecordedRequest") -> None:
    word = _WORDS.get(received.kind)
    if word is None:
        return
    text = f"{received.subject}: {received.text}" if received.subject else received.text or "a file"
    short = text if len(text) <= 100 else text[:99] + "…"
    name = cluster.product(received.channel)
    # A note is the demo's own text; all other text could contain line breaks or move the cursor.
    shown = short if received.kind == "note" else repr(short)
    out.line(f"{word:<8}  {name:<10} {received.target:<22} {shown}")


def _show_rule(cluster: "StandinCluster", action: "AuditAction", metadata: Mapping[str, object]) -> None:
    """Show on the page and the terminal which rule answers a message."""
    if action.name == "trigger.run":
        text = f"rule {metadata['rule']} of triggers.yaml: {metadata['pattern']}"
        cluster.page.users.note(str(metadata["channel"]), str(metadata["chat"]), text)
