"""browser: list the profiles, start and stop their browsers."""

import argparse

from tocsin.core.time.timestamps import timestamp
from tocsin.features.browser.model import BrowserLook
from tocsin.features.browser.service import Browsers
from tocsin.features.contract import Commands
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def configure_browser(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin browser`."""
    commands = add_subcommands(
        parser,
        {
            "profiles": "list the profiles with their state and size",
            "start": "start the browser of a profile; it keeps running after this command",
            "stop": "stop the browser of a profile",
        },
    )
    parser.epilog = "example: tocsin browser start work"
    commands["profiles"].epilog = "example: tocsin browser profiles --json"
    commands["profiles"].set_defaults(run=_profiles)
    commands["start"].epilog = (
        "example: tocsin browser start work\n\n"
        "Prints the address of the debugging port. A browser that is already running is not restarted."
    )
    commands["stop"].epilog = "example: tocsin browser stop work"
    for name, run in (("start", _start), ("stop", _stop)):
        commands[name].add_argument(
            "name",
            nargs="?",
            default="",
            metavar="NAME",
            help="name of the profile (default: the profile with `default: true`)",
        )
        commands[name].set_defaults(run=run)
    commands["stop"].add_argument(
        "--forget",
        action="store_true",
        help="only remove the record and lock, for a browser on a machine that no longer exists",
    )


def _profiles(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(browsers: Browsers) -> list[BrowserLook]:
        if browsers.file.problem:
            raise browsers.file.problem
        return await browsers.with_sizes(await browsers.looks())

    found = program.run(work)
    if out.as_json:
        out.document(found)
    elif not found:
        out.note("no browser profiles exist; add them to browser_profiles.yaml in the data directory")
    else:
        out.table(
            ("name", "browser", "driver", "status", "endpoint", "size", "last used"), [_row(look) for look in found]
        )
        for look in found:
            if look.error:
                out.note(f"{look.profile.name}: {look.error}")
    return DONE


def _row(look: BrowserLook) -> tuple[str, ...]:
    profile, used = look.profile, timestamp(look.last_used_at) or "–"
    name = f"{profile.name} (default)" if profile.default else profile.name
    status, driver = (word.replace("_", " ") for word in (look.status, profile.driver))
    return name, profile.browser, driver, status, look.cdp_endpoint or "–", _size(look.size_bytes), used


def _size(size: int | None) -> str:
    if size is None:
        return "–"
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def _start(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(browsers: Browsers) -> tuple[BrowserLook, bool]:
        starting = browsers.start(readable(arguments.name), source="cli")
        look, started = await out.while_waiting("Starting the browser", starting)
        out.effect_done("the browser was started")
        return (await browsers.with_sizes([look]))[0], started

    look, started = program.run(work, writes=True)
    if out.as_json:
        out.document(look)
    else:
        out.line(f"{look.profile.name}: process {look.pid}, {look.endpoint or 'its port is not open yet'}")
        if not started:
            out.note(f"{look.profile.name} was already running")
    return DONE


def _stop(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(browsers: Browsers) -> tuple[BrowserLook, bool]:
        stopping = browsers.stop(readable(arguments.name), source="cli", forget=arguments.forget)
        look, stopped = await out.while_waiting("Stopping the browser", stopping)
        out.effect_done("the browser was stopped")
        return (await browsers.with_sizes([look]))[0], stopped

    look, stopped = program.run(work, writes=True)
    if out.as_json:
        out.document(look)
    elif stopped:
        out.line(f"{look.profile.name}: {'forgotten' if arguments.forget else 'stopped'}")
    else:
        out.note(f"{look.profile.name} was not running")
    return DONE


COMMANDS: Commands = {"browser": configure_browser}
