"""setup: connect a channel by answering questions."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tocsin.assembly.program import App
from tocsin.channels.contract import ChannelSpec, SendResult
from tocsin.channels.registry import ChannelState
from tocsin.cli.opening import open_settings
from tocsin.cli.running import with_app
from tocsin.cli.setup.env_file import channel_pages, create_env_file
from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import DASHBOARD_PASS, DASHBOARD_USER
from tocsin.core.config.env_file import change_env_file
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ConfigError
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, FAILED, Console, is_terminal
from tocsin.terminal.text import own_command

T = TypeVar("T")

FIRST_TEXT = "Tocsin is connected."
_NO_TERMINAL = "run `tocsin init`, and set the credentials of a channel in .env"


def ask_for_channel(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    """Ask for the credentials of a channel until its test succeeds, then send a first message."""
    if out.as_json or sys.stdin is None or not is_terminal(sys.stdin):
        raise ConfigError("`tocsin setup` asks questions, and needs a terminal", hint=_NO_TERMINAL)
    try:
        return _connect(arguments.channel, _env_file(options, out), options, out)
    except EOFError:
        out.error("setup has ended before the channel was connected", "run it again; what was written stays")
        return FAILED


def _env_file(options: Options, out: Console) -> Path:
    """Return the `.env` file that is read, or a new one."""
    settings, _ = open_settings(options, out)
    if settings.env_file:
        return settings.env_file
    path = create_env_file(options, here=False).path
    out.line(f"Wrote {path} with a random dashboard password and gateway token.")
    return path


def _connect(name: str | None, path: Path, options: Options, out: Console) -> int:
    async def find(app: App) -> ChannelSpec:
        if name:
            return app.registry.spec(name)
        return _choose([state for state in app.registry.states() if not state.spec.platform], out)

    spec = with_app(options, out, find)
    page = channel_pages() / f"{spec.kind}.md"
    out.line(f"\n{spec.label} needs {_listed([each.name for each in spec.required])}."
             + (f" {page} explains where to get them." if page.exists() else ""))  # fmt: skip
    while True:
        change_env_file(path, {each.name: _value(each, out) for each in spec.required})
        result = with_app(options, out, lambda app: _test(app, spec, out))
        if result.ok:
            break
        out.error(result.error, "correct the values; Ctrl-D ends the setup")
    out.line(f"Connected: {result.message}")
    _send_first(spec, options, out)
    command = own_command(options)
    out.line(f"\nStore the sign-in of the dashboard, {DASHBOARD_USER.name} and {DASHBOARD_PASS.name} in {path}.")
    out.line(f"`{command} cron add disk-check 'every 15m' 'df -h'` creates a first job.")
    out.line(f"Next: `{command} up` starts everything, `{command} dashboard link` prints a sign-in link, and")
    out.line(f"`{command} setup` connects another channel.")
    return DONE


def _choose(states: Sequence[ChannelState], out: Console) -> ChannelSpec:
    out.line("Which channel do you want to connect?")
    for number, state in enumerate(states, start=1):
        out.line(f"  {number}. {state.spec.label}{' (connected)' if state.configured else ''}")

    def read(text: str) -> ChannelSpec:
        for number, state in enumerate(states, start=1):
            if text.lower() in {str(number), state.spec.kind, state.spec.label.lower(), *state.spec.aliases}:
                return state.spec
        raise ValueError(f"a number from 1 to {len(states)}, or a name")

    return _ask("Number or name: ", read, out)


def _value(variable: Variable[Any], out: Console) -> str:
    """Ask for the value of a setting until its parser accepts it."""

    def read(text: str) -> str:
        if not text:
            raise ValueError("a value")
        variable.parse(text)
        return text

    out.line(f"\n{variable.doc}")
    return _ask(f"{variable.name}: ", read, out, hidden=variable.secret)


def _ask(prompt: str, read: Callable[[str], T], out: Console, *, hidden: bool = False) -> T:
    from getpass import getpass

    while True:
        text = (getpass(prompt) if hidden else input(prompt)).strip()
        try:
            return read(text)
        except ValueError as error:
            out.error(f"expected {error}")


async def _test(app: App, spec: ChannelSpec, out: Console) -> SendResult:
    call = app.messenger.try_channel(spec.kind, Caller(CLI.name))
    return (await out.while_waiting(f"Testing {spec.label} …", call)).result


def _send_first(spec: ChannelSpec, options: Options, out: Console) -> None:
    """Send a first message to targets until one arrives; an empty answer skips it."""
    out.line(f"\nWhere should a first message go? Format: {spec.target_format}. Enter skips it.")
    while target := input("Target: ").strip():

        async def send(app: App, target: str = target) -> SendResult:
            call = app.messenger.send(spec.kind, target, FIRST_TEXT, Caller(CLI.name))
            return (await out.while_waiting("Sending …", call)).result

        result = with_app(options, out, send)
        if not result.ok:
            out.error(result.error, "enter another target, or nothing to skip the message")
            continue
        out.line(f"Sent: {result.message}")
        if _ask("Did it arrive? (y/n) ", _read_yes, out):
            _direct_notices(spec, target, options, out)
            return
        out.line("Check this, then send it again, or enter nothing:")
        for each in spec.arrival:
            out.line(f"  - {each}")


def _read_yes(text: str) -> bool:
    word = text.lower()
    if word not in {"y", "yes", "n", "no"}:
        raise ValueError("y or n")
    return word.startswith("y")


def _direct_notices(spec: ChannelSpec, target: str, options: Options, out: Console) -> None:
    """Send notices to a target from now on, as the first steps of the dashboard do."""

    async def direct(app: App) -> str:
        return await app.features.abilities.notices.direct_to(spec.kind, target, source=CLI.name)

    profile = with_app(options, out, direct)
    out.line(f"Notices about failures go there from now on, by the profile {profile} in profiles.yaml.")


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
