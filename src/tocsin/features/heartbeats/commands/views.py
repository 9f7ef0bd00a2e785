"""heartbeats list, show, log."""

import argparse
from collections.abc import Mapping, Sequence

from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import field_rows, short_time
from tocsin.core.time.timestamps import duration_words
from tocsin.features.heartbeats.model import HeartbeatPing, HeartbeatRecord, HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.terminal.output import DONE, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable, whole_number

_MARKS = {"met": "#", "late": "+", "failed": "!", "missed": "_", "unknown": "?", "paused": "="}
_SHOWN_PINGS = 10


def configure_views(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    commands["list"].epilog = "example: tocsin heartbeats list --state down"
    commands["list"].add_argument(
        "--state", type=HeartbeatState, choices=list(HeartbeatState), help="state of the heartbeats"
    )
    commands["list"].add_argument("--tag", default="", help="tag of the heartbeats")
    commands["list"].set_defaults(run=_list)
    commands["show"].epilog = "example: tocsin heartbeats show nightly"
    commands["show"].set_defaults(run=_show)
    commands["log"].epilog = "example: tocsin heartbeats log nightly --ping 412"
    commands["log"].add_argument(
        "--ping", type=whole_number(1, 2**53), metavar="N", help="number of the ping (default: the latest with a body)"
    )
    commands["log"].set_defaults(run=_log)
    for name in ("show", "log"):
        commands[name].add_argument("heartbeat", help="name or ID; `tocsin heartbeats list` shows them")


def _list(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> tuple[list[HeartbeatRecord], str]:
        tag, problem = readable(arguments.tag), heartbeats.problem
        found = [each for each in await heartbeats.all() if not tag or tag in each.definition.tags]
        return await heartbeats.records(found), "" if problem is None else str(problem)

    records, problem = program.run(work)
    records = [each for each in records if arguments.state in {None, each.state}]
    if problem:
        out.error(problem, "the last valid version remains active")
    columns = ("name", "state", "expected", "last ping", "latest instants", "uptime")
    out.listing(records, columns, map(_row, records), empty="no heartbeats; add one with `tocsin heartbeats add`")
    return MISUSED if problem else DONE


def _row(record: HeartbeatRecord) -> tuple[str, ...]:
    uptime = "" if record.uptime_30d is None else f"{100 * record.uptime_30d:.1f} %"
    strip = "".join(_MARKS[str(instant.state)] for instant in record.recent)
    state = f"{record.state}, running" if record.running else str(record.state)
    return record.name, state, short_time(record.next_due_at), short_time(record.last_ping_at), strip, uptime


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> tuple[HeartbeatRecord, Sequence[HeartbeatPing]]:
        found = await heartbeats.get(readable(arguments.heartbeat))
        (record,) = await heartbeats.records([found])
        return record, await heartbeats.pings(found.id, _SHOWN_PINGS)

    record, pings = program.run(work)
    document = {**to_json(record), "latest_pings": [to_json(ping) for ping in pings]}
    out.listing(document, ("field", "value"), field_rows(record, {"recent", "running"}))
    if record.recent:
        marks = ", ".join(f"{mark} {word}" for word, mark in _MARKS.items())
        out.line(f"instants: {''.join(_MARKS[str(instant.state)] for instant in record.recent)}  ({marks})")
    for run in record.running:
        out.line(f"running since {short_time(run.started_at, 19)} {run.rid}".rstrip())
    if pings:
        out.table(("ping", "time", "kind", "exit", "duration", "body"), [_ping_row(ping) for ping in pings])
    return DONE


def _ping_row(ping: HeartbeatPing) -> tuple[str, ...]:
    status = "" if ping.exit_status is None else str(ping.exit_status)
    duration = "" if ping.duration_s is None else duration_words(ping.duration_s)
    return (
        str(ping.n),
        short_time(ping.at, 19),
        ping.kind,
        status,
        duration,
        f"{ping.size:,} B" if ping.has_body else "",
    )


def _log(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeats: Heartbeats) -> tuple[int, str] | None:
        found = await heartbeats.get(readable(arguments.heartbeat))
        kept = await heartbeats.pings(found.id, 200)
        n = arguments.ping or next((ping.n for ping in kept if ping.has_body), None)
        return None if n is None else (n, await heartbeats.body(found.id, n))

    body = program.run(work)
    if body is None:
        out.note("no ping with a body is kept")
        return DONE
    out.text(body[1])
    return out.answer({"ping": body[0], "body": body[1]})
