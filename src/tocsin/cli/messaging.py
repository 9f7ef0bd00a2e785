"""test, send, profiles, notify."""

import argparse

from tocsin.app import App, read_profiles
from tocsin.channels.contract import SendResult
from tocsin.cli.opening import open_settings, with_app
from tocsin.cli.options import Options
from tocsin.cli.output import DONE, FAILED, Output
from tocsin.cli.text import message_of, readable
from tocsin.messaging.caller import Caller
from tocsin.messaging.messenger import NotifyResult


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
    parser.add_argument("--queue", action="store_true", help="queue it durably instead of sending it now")
    parser.set_defaults(run=_send, free_text="message")


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
    parser.add_argument("--queue", action="store_true", help="queue it durably instead of sending it now")
    parser.set_defaults(run=_notify, free_text="message")


def _test(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    async def work(app: App) -> SendResult:
        call = app.messenger.test(readable(arguments.channel), Caller("cli"))
        return await out.while_waiting(f"Testing {arguments.channel} …", call)

    result = with_app(options, out, work)
    return _show(out, result, f"{result.channel}: {result.message}")


def _send(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    message = message_of(arguments.message)
    if arguments.queue:
        return _queue(arguments, message, options, out)

    async def work(app: App) -> SendResult:
        call = app.messenger.send(readable(arguments.channel), readable(arguments.target), message, Caller("cli"))
        return (await out.while_waiting(f"Sending on {arguments.channel} …", call)).result

    result = with_app(options, out, work)
    return _show(out, result, f"sent on {result.channel} to {result.target} ({result.message})")


def _queue(arguments: argparse.Namespace, message: str, options: Options, out: Output) -> int:
    from tocsin.delivery.document import delivery_document
    from tocsin.delivery.model import Delivery

    async def work(app: App) -> Delivery:
        new = app.outbox.prepare(readable(arguments.channel), readable(arguments.target), message, "cli")
        [delivery] = await app.outbox.enqueue([new], Caller("cli"))
        return delivery

    delivery = with_app(options, out, work)
    if out.as_json:
        out.document(delivery_document(delivery))
    else:
        out.line(f"queued on {delivery.channel} to {delivery.target} as {delivery.id}")
        out.line("it is sent while `tocsin up`, `gateway` or `worker` runs")
    return DONE


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
    message = message_of(arguments.message)

    async def work(app: App) -> NotifyResult:
        send = app.messenger.notify_by_queue if arguments.queue else app.messenger.notify
        call = send(readable(arguments.profile), message, Caller("cli"))
        return await out.while_waiting(f"Notifying {arguments.profile} …", call)

    outcome = with_app(options, out, work)
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
        word = "queued" if arguments.queue else "sent"
        rows = [
            (r.channel, r.target, f"{word} ({r.message})" if r.ok else f"failed: {r.error}") for r in outcome.results
        ]
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
