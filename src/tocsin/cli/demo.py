"""demo: everything on this machine, against built-in stand-ins, in a throw-away data directory."""

import argparse
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tocsin.app import direct_transport, load_settings, open_app, serve
from tocsin.cli.options import Options
from tocsin.cli.output import DONE, Output
from tocsin.cli.serve import prepare_service, run_on_uvloop
from tocsin.core.errors import ConfigError
from tocsin.core.variables import (
    DASHBOARD_PASS,
    DASHBOARD_USER,
    DATA_DIR,
    GATEWAY_HOST,
    GATEWAY_PORT,
    LOG_FORMAT,
    LOG_LEVEL,
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
        async with open_standins() as town:
            env_file = _write_files(directory, town)
            settings, discovery = load_settings(env_file=env_file, environ={})
            prepare_service(settings, options)
            town.recorder.on_message(lambda received: _show(out, received))
            async with open_app(settings, discovery, direct_transport) as app:
                await serve(app, frozenset({"gateway"}), lambda addresses: _welcome(out, town, env_file, addresses))

    with TemporaryDirectory(prefix="tocsin-demo-") as directory:
        run_on_uvloop(main(Path(directory)))
    out.note("\nThe demo has ended; its data directory is gone.")
    return DONE


def _write_files(directory: Path, town: "Town") -> Path:
    """Write `.env` and a sample profile; return the path of `.env`."""
    values = {
        DATA_DIR.name: str(directory),
        GATEWAY_PORT.name: str(_free_port()),
        DASHBOARD_USER.name: "demo",
        DASHBOARD_PASS.name: token_urlsafe(12),
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


def _free_port() -> int:
    for port in (USUAL_PORT, 0):
        try:
            with socket.create_server((GATEWAY_HOST.default, port)) as probe:
                return int(probe.getsockname()[1])
        except OSError:
            continue
    raise ConfigError("there is no free port on loopback", hint="stop a program that listens on many")


def _welcome(out: Output, town: "Town", env_file: Path, addresses: Sequence[str]) -> None:
    tocsin = f"{_command()} --env-file {shlex.quote(str(env_file))}"
    samples = town.samples()
    channel, target = next(iter(samples.items()))
    body = f'{{"channel":"{channel}","target":"{target}","message":"hello over HTTP"}}'
    lines = [
        "Tocsin runs on this machine alone; no account, nothing leaves it. Ctrl-C ends it.",
        "",
        f"  gateway             {addresses[0]}",
        f"  what was received   {town.page.url}   (open it in a browser)",
        "",
        "Try, in another terminal:",
        "",
        f"  {tocsin} channels",
        *(f'  {tocsin} send {kind} {shlex.quote(to)} "hello"' for kind, to in samples.items()),
        f'  {tocsin} notify {PROFILE} "disk 91 % full"',
        f"  {tocsin} audit tail",
        f"  curl {addresses[0]}/send -H 'Content-Type: application/json' -d '{body}'",
        "",
        "Messages appear below as the stand-ins receive them.",
        "",
    ]
    for line in lines:
        out.line(line)


def _show(out: Output, received: "Received") -> None:
    text = f"{received.subject}: {received.text}" if received.subject else received.text
    short = text if len(text) <= 100 else text[:99] + "…"
    out.line(f"received  {received.channel:<10} {received.target:<22} {short!r}")


def _command() -> str:
    """Return how this program was started, so that the printed commands work as they are."""
    return shlex.quote(sys.argv[0]) if sys.argv[0].endswith("tocsin") else "tocsin"
