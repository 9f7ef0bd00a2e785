"""channels, test, send, profiles, notify."""

import argparse
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.app import (
    App,
    direct_transport,
    list_channels,
    load_settings,
    open_app,
    read_profiles,
)
from tocsin.channels.contract import SendResult
from tocsin.channels.registry import ChannelState
from tocsin.cli.opening import open_settings
from tocsin.cli.options import Options
from tocsin.cli.output import DONE, FAILED, Output
from tocsin.core.errors import ConfigError
from tocsin.core.http import Transport

if TYPE_CHECKING:
    from tocsin.messaging.messenger import Caller, NotifyResult

T = TypeVar("T")

# A message beyond that is a file, not a message; reading it all would only fill the memory.
MAX_STDIN_BYTES = 4 * 1024 * 1024


def configure_channels(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin channels`."""
    parser.epilog = "example: tocsin channels --json"
    parser.set_defaults(run=_channels)


def configure_test(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin test`."""
    parser.epilog = "example: tocsin test email"
    parser.add_argument("channel", help="a channel or its alias; `tocsin channels` lists them")
    parser.set_defaults(run=_test)


def configure_send(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin send`."""
    parser.epilog = (
        'examples:\n  tocsin send email ops@example.org "Backup done"\n  df -h | tocsin send email ops@example.org -'
    )
    parser.add_argument("channel", help="a channel or its alias; `tocsin channels` lists them")
    parser.add_argument("target", help="who or where on that channel")
    parser.add_argument("message", help="the text; `-` reads standard input; put `--` before one that starts with `-`")
    parser.set_defaults(run=_send)


def configure_profiles(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin profiles`."""
    parser.epilog = """example: tocsin profiles

example of a profiles.yaml:
  oncall:
    - channel: email
      target: ops@example.org"""
    parser.set_defaults(run=_profiles)


def configure_notify(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin notify`."""
    parser.epilog = 'example: tocsin notify oncall "Disk 91 % full"'
    parser.add_argument("profile", help="a profile of profiles.yaml; `tocsin profiles` lists them")
    parser.add_argument("message", help="the text; `-` reads standard input; put `--` before one that starts with `-`")
    parser.set_defaults(run=_notify)


def _channels(_: argparse.Namespace, options: Options, out: Output) -> int:
    settings, discovery = load_settings(data_dir=options.data_dir, env_file=options.env_file)
    for problem in discovery.problems:
        out.error(problem)
    states = list_channels(settings, discovery)
    if out.as_json:
        out.document([_state_document(state) for state in states])
        return DONE
    out.table(
        ("channel", "product", "state", "target"),
        [(s.spec.kind, s.spec.label, _state_sentence(s), s.spec.target_format) for s in states],
    )
    return DONE


def _state_sentence(state: ChannelState) -> str:
    if not state.available:
        return f"unavailable (needs {state.spec.platform})"
    return f"missing {', '.join(state.missing)}" if state.missing else "configured"


def _state_document(state: ChannelState) -> dict[str, object]:
    spec = state.spec
    return {
        "channel": spec.kind,
        "configured": state.configured,
        "missing": list(state.missing),
        "available": state.available,
        "aliases": list(spec.aliases),
        "target": spec.target_format,
        "max_length": spec.max_length,
        "inbound": list(spec.inbound),
    }


def _test(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    async def work(app: App) -> SendResult:
        call = app.messenger.test(arguments.channel, _caller())
        return await out.while_waiting(f"Testing {arguments.channel} …", call)

    result = _with_app(options, out, direct_transport, work)
    return _show(out, result, f"{result.channel}: {result.message}")


def _send(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    message = _message(arguments.message)

    async def work(app: App) -> SendResult:
        call = app.messenger.send(arguments.channel, arguments.target, message, _caller())
        return (await out.while_waiting(f"Sending on {arguments.channel} …", call)).result

    result = _with_app(options, out, direct_transport, work)
    return _show(out, result, f"sent on {result.channel} to {result.target} ({result.message})")


def _profiles(_: argparse.Namespace, options: Options, out: Output) -> int:
    settings, discovery = open_settings(options, out)
    profiles = read_profiles(settings, discovery)
    found = profiles.all()
    if profiles.problem:
        raise profiles.problem
    if out.as_json:
        out.document([profile.as_record() for profile in found])
    elif not found:
        out.note(f"no profiles yet; write {profiles.path}; `tocsin profiles --help` shows an example")
    else:
        rows = [
            (
                p.name,
                ", ".join(f"{e.channel}:{e.target}" for e in p.entries),
                "; ".join(str(x) for x in p.problems) or "ok",
            )
            for p in found
        ]
        out.table(("profile", "targets", "state"), rows)
    return DONE


def _notify(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    message = _message(arguments.message)

    async def work(app: App) -> "NotifyResult":
        call = app.messenger.notify(arguments.profile, message, _caller())
        return await out.while_waiting(f"Notifying {arguments.profile} …", call)

    outcome = _with_app(options, out, direct_transport, work)
    if out.as_json:
        out.document(
            {
                "profile": outcome.profile,
                "ok": outcome.ok,
                "sent": outcome.sent,
                "failed": outcome.failed,
                "results": outcome.results,
            }
        )
    else:
        rows = [(r.channel, r.target, f"sent ({r.message})" if r.ok else f"failed: {r.error}") for r in outcome.results]
        out.table(("channel", "target", "outcome"), rows)
    return DONE if outcome.ok else FAILED


def _show(out: Output, result: SendResult, success: str) -> int:
    """Print a send result and return its exit code."""
    if out.as_json:
        out.document(result)
    elif result.ok:
        out.line(success)
    else:
        out.error(result.error)
    return DONE if result.ok else FAILED


def _message(argument: str) -> str:
    if argument != "-":
        return argument
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("standard input is closed", hint="pipe the text in, or write it instead of `-`")
    try:
        raw = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"standard input cannot be read: {error.strerror}") from None
    if len(raw) > MAX_STDIN_BYTES:
        raise ConfigError("standard input holds more than 4 MiB", hint="send a shorter text")
    # What is no UTF-8 arrives as U+FFFD. The line end is the shell's, not the message's.
    return raw.decode("utf-8", errors="replace").removesuffix("\n").removesuffix("\r")


def _caller() -> "Caller":
    from tocsin.messaging.messenger import Caller

    return Caller("cli")


def _with_app(
    options: Options,
    out: Output,
    transport: Callable[[], Transport],
    work: Callable[[App], Coroutine[Any, Any, T]],
) -> T:
    import asyncio

    settings, discovery = open_settings(options, out)

    async def call() -> T:
        async with open_app(settings, discovery, transport) as app:
            return await work(app)

    return asyncio.run(call())
