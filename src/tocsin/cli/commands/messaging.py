"""test, send, profiles, notify."""

import argparse
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.assembly.profiles import checked_profiles
from tocsin.assembly.program import App
from tocsin.channels.contract import Receipt, SendResult
from tocsin.cli.commands.contents import add_contents, parse_mode_of, show_plans, stored_contents
from tocsin.cli.commands.failed_sends import report_interrupted, retry_hint
from tocsin.cli.commands.long_texts import may_send
from tocsin.cli.running import with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.text.strings import number_of
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.messenger import NotifyResult
from tocsin.messaging.outbound.profiles import Profile
from tocsin.messaging.outbound.results import PlannedTarget
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console
from tocsin.terminal.text import read_message, readable

if TYPE_CHECKING:
    from tocsin.channels.dressing import MessagePlan

YES = "do not ask for confirmation before a long text is sent as many messages"


def configure_test(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin test email"
    parser.add_argument("channel", help="channel or alias; `tocsin channels` lists them")
    parser.set_defaults(run=_test)


def configure_send(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """examples:
  tocsin send email ops@example.org "Backup done"
  df -h | tocsin send email ops@example.org --title "Disks of web1" --format plain -
  tocsin send email ops@example.org "Root is 91 % full" --title web1 --type warning --priority high

Without --title, the first line of a text of several lines is the subject of a mail."""
    parser.add_argument("channel", help="channel or alias; `tocsin channels` lists them")
    parser.add_argument("target", help="address of the recipient on the channel, such as a chat ID")
    parser.add_argument(
        "message", help="message text; `-` reads standard input; precede a text that starts with `-` with `--`"
    )
    add_contents(parser)
    parser.add_argument("--queue", action="store_true", help="store the message in the queue instead of sending it now")
    parser.add_argument("-y", "--yes", action="store_true", help=YES)
    parser.set_defaults(run=_send, free_text="message")


def configure_withdraw(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin withdraw slack '#ops' disk-web1"
    parser.add_argument("channel", help="channel or alias; `tocsin channels` lists them")
    parser.add_argument("target", help="address that the message was sent to")
    parser.add_argument("key", help="key that the message was sent with (`--key`)")
    parser.set_defaults(run=_withdraw)


def configure_profiles(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """example: tocsin profiles

example of a profiles.yaml:
  # yaml-language-server: $schema=schemas/profiles.json
  oncall:
    - channel: email
      target: ops@example.org"""
    parser.set_defaults(run=_profiles)


def configure_notify(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: tocsin notify oncall "Disk 91 % full"'
    parser.add_argument("profile", help="notification profile; `tocsin profiles` lists them")
    parser.add_argument(
        "message", help="message text; `-` reads standard input; precede a text that starts with `-` with `--`"
    )
    add_contents(parser)
    parser.add_argument("--queue", action="store_true", help="store the message in the queue instead of sending it now")
    parser.add_argument("-y", "--yes", action="store_true", help=YES)
    parser.set_defaults(run=_notify, free_text="message")


def _test(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> int:
        call = app.messenger.try_channel(readable(arguments.channel), Caller(CLI.name))
        receipt = await out.while_waiting(f"Testing {arguments.channel} …", call)
        return _show(
            out, receipt, f"{app.registry.label(receipt.result.channel)}: {receipt.result.message}", is_send=False
        )

    return with_app(options, out, work)


def _send(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    message, mode = read_message(arguments.message, out), parse_mode_of(arguments)
    if arguments.dry_run:
        return _plan_send(arguments, message, options, out)
    if arguments.queue:
        return _queue(arguments, message, options, out)

    async def work(app: App) -> int:
        channel, target = readable(arguments.channel), readable(arguments.target)

        def cut_off(receipts: Sequence[Receipt]) -> None:
            report_interrupted(out, receipts, app.registry.label)
            if out.as_json:
                out.document(receipts[0].result)

        if not (arguments.yes or await may_send(app, out, [(channel, target)], message)):
            return FAILED
        content = await stored_contents(arguments, app)
        call = app.messenger.send(
            channel, target, message, Caller(CLI.name), parse_mode=mode, content=content, on_cut_off=cut_off
        )
        receipt = await out.while_waiting(f"Sending on {arguments.channel} …", call)
        result = receipt.result
        if result.ok:
            out.effect_done("the message was sent")
        where = f"on {app.registry.label(result.channel)} to {result.target}"
        return _show(out, receipt, f"sent {where} ({result.message})")

    return with_app(options, out, work)


def _plan_send(arguments: argparse.Namespace, message: str, options: Options, out: Console) -> int:
    mode = parse_mode_of(arguments)

    async def work(app: App) -> int:
        channel, target = readable(arguments.channel), readable(arguments.target)
        try:
            content = await stored_contents(arguments, app)
            planned: MessagePlan | TocsinError = app.outbox.plan(
                channel, target, message, parse_mode=mode, content=content
            )
        except TocsinError as error:
            planned = error
        return show_plans(out, [PlannedTarget(channel, target, planned)], app.registry.label)

    return with_app(options, out, work)


def _queue(arguments: argparse.Namespace, message: str, options: Options, out: Console) -> int:
    async def work(app: App) -> int:
        channel, target = readable(arguments.channel), readable(arguments.target)
        if not (arguments.yes or await may_send(app, out, [(channel, target)], message)):
            return FAILED
        mode, content = parse_mode_of(arguments), await stored_contents(arguments, app)
        new = app.outbox.prepare(channel, target, message, "cli", parse_mode=mode, content=content)
        [delivery] = await app.outbox.enqueue([new], Caller(CLI.name))
        out.effect_done("the message was queued")
        return out.answer(
            delivery,
            f"queued on {app.registry.label(delivery.channel)} to {delivery.target} as {delivery.id}",
            "`tocsin up`, `gateway`, `bot` or `worker` sends it",
        )

    return with_app(options, out, work, writes=True)


def _withdraw(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> int:
        channel, target, key = readable(arguments.channel), readable(arguments.target), readable(arguments.key)
        call = app.messenger.withdraw(channel, target, key, Caller(CLI.name))
        receipt = await out.while_waiting(f"Withdrawing on {channel} …", call)
        result = receipt.result
        if result.ok:
            out.effect_done("the message was withdrawn")
        return _show(out, receipt, f"{app.registry.label(result.channel)} {result.target}: {result.message}")

    return with_app(options, out, work)


def _profiles(_: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[Path, tuple[Profile, ...], Callable[[str], str]]:
        profiles = app.profiles()
        if profiles.problem:
            raise profiles.problem
        return profiles.path, checked_profiles(app), app.registry.label

    path, found, label = with_app(options, out, work)
    if out.as_json:
        out.document([profile.as_record() for profile in found])
    elif not found:
        out.note(f"no profiles exist; create {path} (`tocsin profiles --help` shows an example)")
    else:
        rows = [
            (p.name, ", ".join(f"{label(e.channel)} {e.target}" for e in p.entries), "ok" if p.valid else "error")
            for p in found
        ]
        out.table(("profile", "targets", "state"), rows)
    for problem in (problem for profile in found for problem in profile.problems):
        out.error(f"{path}:{problem}", "fix this entry; the other targets are not affected")
    return DONE if all(profile.valid for profile in found) else MISUSED


def _notify(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    message, mode = read_message(arguments.message, out), parse_mode_of(arguments)
    profile = readable(arguments.profile)

    async def work(app: App) -> int:
        if arguments.dry_run:
            content = await stored_contents(arguments, app)
            plans = app.messenger.plan(profile, message, parse_mode=mode, content=content)
            return show_plans(out, plans, app.registry.label)

        def cut_off(receipts: Sequence[Receipt]) -> None:
            report_interrupted(out, receipts, app.registry.label)
            if out.as_json:
                _show_outcome(out, NotifyResult(profile, tuple(receipt.result for receipt in receipts)), "sent")

        targets = [(entry.channel, entry.target) for entry in app.profiles().get(profile).entries]
        if not (arguments.yes or await may_send(app, out, targets, message)):
            return FAILED
        content = await stored_contents(arguments, app)
        if arguments.queue:
            call = app.messenger.notify_by_queue(profile, message, Caller(CLI.name), parse_mode=mode, content=content)
        else:
            call = app.messenger.notify(
                profile, message, Caller(CLI.name), parse_mode=mode, content=content, on_cut_off=cut_off
            )
        outcome = await out.while_waiting(f"Notifying {arguments.profile} …", call)
        word = "queued" if arguments.queue else "sent"
        if outcome.sent:
            out.effect_done(f"the message was {word} for {outcome.sent} of {number_of(len(outcome.results), 'target')}")
        return _show_outcome(out, outcome, word, app.registry.label)

    return with_app(options, out, work, writes=arguments.queue)


def _show_outcome(out: Console, outcome: NotifyResult, word: str, label: Callable[[str], str] = str) -> int:
    """Print the results of a fan-out and return its exit code."""
    return out.listing(
        {
            "profile": outcome.profile,
            "ok": outcome.ok,
            "sent": outcome.sent,
            "failed": outcome.failed,
            "results": outcome.results,
        },
        ("channel", "target", "outcome"),
        (
            (label(r.channel), r.target, f"{word} ({r.message})" if r.ok else f"failed: {_reason(out, r, failure)}")
            for r, failure in zip_longest(outcome.results, outcome.failures)
        ),
        ok=outcome.ok,
    )


def _reason(out: Console, result: SendResult, failure: TocsinError | None) -> str:
    """Return the error of a result for people, after its position in the profiles file, if it has one."""
    if not isinstance(failure, UnknownChannelError):
        return result.error
    return f"{result.error.removesuffix(failure.in_result())}{out.explained(failure)[0]}"


def _show(out: Console, receipt: Receipt, success: str, *, is_send: bool = True) -> int:
    """Print the result of a send or test, with advice after a failed send; return the exit code."""
    result, failure = receipt.result, receipt.failure
    if out.as_json:
        out.document(result)
    elif result.ok:
        out.line(success)
    elif isinstance(failure, UnknownChannelError):
        out.error(*out.explained(failure))
    else:
        hint = retry_hint(receipt) if is_send else ""
        out.error(failure.shortened(result.error) if hint and failure else result.error, hint)
    return DONE if result.ok else FAILED
