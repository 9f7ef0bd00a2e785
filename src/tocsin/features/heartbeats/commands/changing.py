"""heartbeats add, edit, pause, resume, remove."""

import argparse
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tocsin.features.heartbeats.model import AfterDowntime, Heartbeat, HeartbeatRecord, HeartbeatSeverity
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.output import Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable, whole_number

CALLER = Caller("cli")
_FIELDS = (
    "period", "schedule", "timezone", "grace", "max_run", "misses", "severity", "notify", "after_downtime",
    "description",
)  # fmt: skip


def configure_changes(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    commands["add"].epilog = (
        "examples:\n"
        "  tocsin heartbeats add nightly --schedule '0 3 * * *' --timezone Europe/Berlin --grace 30m --notify oncall\n"
        "  tocsin heartbeats add sensor --period 5m --grace 2m --misses 2"
    )
    commands["add"].add_argument("name", help="new name: lower-case letters, digits, _ and -")
    _add_fields(commands["add"])
    commands["add"].set_defaults(run=_add)
    for name in ("edit", "pause", "resume", "remove"):
        commands[name].add_argument("heartbeat", help="name or ID; `tocsin heartbeats list` shows them")
    commands["edit"].epilog = "example: tocsin heartbeats edit nightly --grace 1h"
    commands["edit"].add_argument("--name", help="new name; the address by UUID stays")
    _add_fields(commands["edit"])
    commands["edit"].set_defaults(run=_edit)
    commands["pause"].epilog = "example: tocsin heartbeats pause nightly"
    commands["pause"].set_defaults(run=_pause)
    commands["resume"].epilog = "example: tocsin heartbeats resume nightly"
    commands["resume"].set_defaults(run=_resume)
    commands["remove"].epilog = "example: tocsin heartbeats remove nightly --yes"
    commands["remove"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    commands["remove"].set_defaults(run=_remove)


def _add_fields(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--period", metavar="TIME", help="longest time between two pings, such as 5m or 1d")
    add("--schedule", metavar="CRON", help="five fields as in crontab, or @daily and the like")
    add("--timezone", metavar="ZONE", help="IANA time zone of the schedule")
    add("--grace", metavar="TIME", help="how late a ping may be (default: 10m)")
    add("--max-run", metavar="TIME", help="how long a started run may take (default: the grace)")
    add("--misses", type=whole_number(1, 10), metavar="N", help="missed pings in a row until it is down (default: 1)")
    add("--severity", choices=list(map(str, HeartbeatSeverity)), help="severity of the alarm (default: critical)")
    add("--notify", metavar="WHERE", help="where down and up are sent: <channel>:<target> or a profile")
    add(
        "--after-downtime",
        choices=list(map(str, AfterDowntime)),
        help="how a ping counts that was due while Tocsin was not running (default: unknown)",
    )
    add("--tag", action="append", metavar="TAG", help="word for badges and filters; may be repeated")
    add("--description", metavar="TEXT", help="what it is for")


def fields_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that were given as options; an empty text means the default."""
    found = {name: getattr(arguments, name) for name in _FIELDS if getattr(arguments, name) is not None}
    found = {name: readable(value) if isinstance(value, str) else value for name, value in found.items()}
    found = {name: value if value != "" else None for name, value in found.items()}
    return found if arguments.tag is None else {**found, "tags": [readable(tag) for tag in arguments.tag if tag]}


def _add(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    fields = {name: value for name, value in fields_of(arguments).items() if value is not None}
    name = readable(arguments.name)
    if not {"period", "schedule"} & fields.keys():
        arguments.parser.error("give a --period or a --schedule")

    def note() -> None:
        if not out.as_json:
            out.note(f"`tocsin heartbeats url {name}` prints its address. Pings are taken while `tocsin up` runs.")

    return _changed(lambda each: each.add(name, fields, CALLER), "added", out, program, note)


def _edit(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    changes = fields_of(arguments)
    if arguments.name:
        changes["name"] = readable(arguments.name)
    if not changes:
        arguments.parser.error("no changes requested: give at least one option")
    return _changed(lambda each: each.edit(readable(arguments.heartbeat), changes, CALLER), "changed", out, program)


def _pause(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    return _changed(lambda each: each.pause(readable(arguments.heartbeat), CALLER), "paused", out, program)


def _resume(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    return _changed(lambda each: each.resume(readable(arguments.heartbeat), CALLER), "resumed", out, program)


def _changed(
    change: Callable[[Heartbeats], Coroutine[Any, Any, Heartbeat]],
    done: str,
    out: Console,
    program: Program,
    note: Callable[[], None] = lambda: None,
) -> int:
    async def work(heartbeats: Heartbeats) -> HeartbeatRecord:
        (record,) = await heartbeats.records([await change(heartbeats)])
        return record

    record = program.run(work, writes=True)
    out.effect_done(f"the heartbeat was {done}")
    note()
    return out.answer(record, f"{done} {record.name}")


def _remove(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> Heartbeat:
        found = await heartbeats.get(readable(arguments.heartbeat))
        await out.confirm(f"Remove the heartbeat {found.name}?", yes=arguments.yes)
        return await heartbeats.remove(found.id, CALLER)

    removed = program.run(work, writes=True)
    out.effect_done("the heartbeat was removed")
    return out.answer({"id": removed.id, "name": removed.name, "removed": True}, f"removed {removed.name}")
