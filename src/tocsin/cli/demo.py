"""demo: everything on this machine, against built-in stand-ins, in a throw-away data directory."""

import argparse
import asyncio
import json
import shlex
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tocsin.app import direct_transport, load_settings, open_app, serve
from tocsin.cli.options import Options
from tocsin.cli.output import DONE, Output
from tocsin.cli.serve import prepare_service, run_on_uvloop
from tocsin.core.errors import ConfigError
from tocsin.core.process import running
from tocsin.core.settings import read_env_file
from tocsin.core.variables import (
    DASHBOARD_PASS,
    DASHBOARD_USER,
    DATA_DIR,
    GATEWAY_HOST,
    GATEWAY_PORT,
    LOG_FORMAT,
    LOG_LEVEL,
    REDIS_URL,
)

if TYPE_CHECKING:
    from tocsin.standins.recorder import Received
    from tocsin.standins.town import Town

PROFILE = "oncall"
# The usual port first, so that what the documentation says works here too.
USUAL_PORT = GATEWAY_PORT.default


def configure_demo(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin demo`."""
    parser.epilog = "example: tocsin demo"
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace, options: Options, out: Output) -> int:
    try:
        from tocsin.standins.town import open_standins
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name}: package not installed", hint='pip install "tocsin[demo]"') from None

    async def main(directory: Path) -> None:
        _end_with_the_terminal()
        async with open_standins() as town, _redis(directory) as redis_url:
            town.recorder.on_message(lambda received: _show(out, received))
            for port in (USUAL_PORT, 0):
                env_file = _write_files(directory, town, _free_port(port), redis_url)
                settings, discovery = load_settings(env_file=env_file, environ={})
                prepare_service(settings, options)
                try:
                    async with open_app(settings, discovery, direct_transport) as app:
                        welcome = partial(_welcome, out, town, env_file, redis_url)
                        await serve(app, frozenset({"gateway"}), welcome)
                    return
                except ConfigError:  # somebody else took the port meanwhile
                    if not port:
                        raise

    with TemporaryDirectory(prefix="tocsin-demo-") as directory:
        run_on_uvloop(main(Path(directory)))
    out.note("\nThe demo has ended; its data directory is gone.")
    return DONE


def _end_with_the_terminal() -> None:
    """Let a terminal that is closed end the demo as Ctrl-C does, so that it cleans up."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, signal.raise_signal, signal.SIGTERM)


@asynccontextmanager
async def _redis(directory: Path) -> AsyncIterator[str]:
    """Run a Redis of the demo's own where one is installed; give its address, or `off`."""
    server = which("redis-server")
    if server is None:
        yield "off"
        return
    port = str(_free_port(0))
    options = ["--port", port, "--bind", GATEWAY_HOST.default, "--dir", str(directory), "--appendonly", "yes"]
    async with running([server, *options, "--save", "", "--loglevel", "warning"]):
        yield f"redis://{GATEWAY_HOST.default}:{port}/0"


def _write_files(directory: Path, town: "Town", gateway_port: int, redis_url: str) -> Path:
    """Write `.env` and a sample profile; return the path of `.env`."""
    values = {
        DATA_DIR.name: str(directory),
        GATEWAY_PORT.name: str(gateway_port),
        DASHBOARD_USER.name: "demo",
        DASHBOARD_PASS.name: token_urlsafe(12),
        REDIS_URL.name: redis_url,
        LOG_LEVEL.name: "warning",
        LOG_FORMAT.name: "text",
        **town.environment(),
    }
    env_file = directory / ".env"
    env_file.touch(mode=0o600)
    env_file.write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
    (directory / "profiles.yaml").write_text(_profile(town.samples()), encoding="utf-8")
    return env_file


def _profile(samples: Mapping[str, str]) -> str:
    lines = [f"{PROFILE}:"]
    for channel, target in samples.items():
        lines += [f"  - channel: {channel}", f'    target: "{target}"']
    return "\n".join(lines) + "\n"


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        try:
            with socket.create_server((GATEWAY_HOST.default, port)) as probe:
                return int(probe.getsockname()[1])
        except OSError:
            continue
    raise ConfigError("there is no free port on loopback", hint="stop a program that listens on many")


def _welcome(out: Output, town: "Town", env_file: Path, redis_url: str, addresses: Sequence[str]) -> None:
    commands = _commands(town, env_file, addresses[0])
    bus = redis_url if redis_url != "off" else "in this process (redis-server is not installed)"
    if out.as_json:
        out.document(
            {"gateway": addresses[0], "page": town.page.url, "env_file": str(env_file), "commands": commands},
        )
        return
    lines = [
        "Tocsin runs on this machine alone; no account, nothing leaves it. Ctrl-C ends it.",
        "",
        f"  gateway             {addresses[0]}",
        f"  what was received   {town.page.url}   (open it in a browser)",
        f"  bus                 {bus}",
        "  queue               embedded store (SQLite)",
        "",
        "Try, in another terminal:",
        "",
        *(f"  {command}" for command in commands),
        "",
        "Messages appear below as the stand-ins receive them.",
        "",
    ]
    for line in lines:
        out.line(line)


def _commands(town: "Town", env_file: Path, gateway: str) -> list[str]:
    """Return commands that work as they are in any directory of another terminal."""
    unset = "".join(f" -u {name}" for name in _replaced(env_file))
    tocsin = f"{f'env{unset} ' if unset else ''}{_command()} --env-file {shlex.quote(str(env_file))}"
    samples = town.samples()
    channel, target = next(iter(samples.items()))
    body = json.dumps({"channel": channel, "target": target, "message": "hello over HTTP"})
    return [
        f"{tocsin} channels",
        *(f'{tocsin} send {kind} {shlex.quote(to)} "hello"' for kind, to in samples.items()),
        f'{tocsin} notify {PROFILE} "disk 91 % full"',
        f'{tocsin} send {channel} {shlex.quote(target)} "queued" --queue',
        f'{tocsin} publish {channel} {shlex.quote(target)} "hello over the bus"',
        f"{tocsin} deliveries list",
        f"{tocsin} audit tail",
        f"curl {gateway}/send -H 'Content-Type: application/json' -d {shlex.quote(body)}",
    ]


def _replaced(env_file: Path) -> list[str]:
    """Return the variables by which this shell would send to real accounts instead of the stand-ins."""
    names = read_env_file(env_file).values
    try:
        sources = load_settings(env_file=env_file)[0].sources
    except ConfigError:  # something there is malformed, and would stop every command
        return sorted(names)
    elsewhere = [name for name in names if sources.get(name) != str(env_file)]
    return [f"{name}_FILE" if sources.get(name, "").endswith("_FILE)") else name for name in elsewhere]


def _show(out: Output, received: "Received") -> None:
    text = f"{received.subject}: {received.text}" if received.subject else received.text
    short = text if len(text) <= 100 else text[:99] + "…"
    out.line(f"received  {received.channel:<10} {received.target:<22} {short!r}")


def _command() -> str:
    """Return how this program was started, so that the printed commands work as they are."""
    here = Path(sys.argv[0]).absolute()
    found = which("tocsin")
    same = found is not None and here.exists() and here.samefile(found)
    return "tocsin" if same or here.name != "tocsin" else shlex.quote(str(here))
