"""doors list, show, last."""

import argparse
from collections.abc import Mapping, Sequence

from tocsin.core.errors import ConfigError
from tocsin.core.reading.yaml_node import YamlError
from tocsin.core.records.table import field_rows, short_time
from tocsin.core.text.strings import number_of
from tocsin.features.doors.model import DoorRecord, DoorRequestRecord, as_record
from tocsin.features.doors.rules.checking import RuleWarning
from tocsin.features.doors.service import Doors
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable

_SHOWN_PAYLOAD = 2_000
_KEPT = "the last valid version remains active"


def configure_views(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    """Add the arguments of the subcommands that only show something."""
    commands["list"].epilog = "example: tocsin doors list --json"
    commands["list"].set_defaults(run=_list)
    commands["show"].epilog = "example: tocsin doors show alerts"
    commands["show"].set_defaults(run=_show)
    commands["check"].epilog = "example: tocsin doors check"
    commands["check"].set_defaults(run=_check)
    commands["last"].epilog = "example: tocsin doors last alerts"
    commands["last"].set_defaults(run=_last)
    for name in ("show", "last"):
        commands[name].add_argument("door", help="name or ID; `tocsin doors list` shows them")


def _list(_arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(doors: Doors) -> tuple[list[DoorRecord], ConfigError | None]:
        return [as_record(each) for each in await doors.all()], doors.rules.read()[1]

    records, problem = program.run(work)
    if problem is not None:
        out.error(str(problem), _KEPT)
    columns = ("name", "protocol", "profile", "secret", "requests", "last request")
    out.listing(records, columns, map(_row, records), empty="no doors; add one with `tocsin doors add`")
    return DONE if problem is None else MISUSED


def _row(record: DoorRecord) -> tuple[str, ...]:
    definition, secret = record.definition, "yes" if record.has_secret else "no"
    requests, last = f"{record.requests:,}", short_time(record.last_at)
    return record.name, definition.protocol, definition.profile, secret, requests, last


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(doors: Doors) -> DoorRecord:
        return as_record(await doors.get(readable(arguments.door)))

    record = program.run(work)
    return out.listing(record, ("field", "value"), field_rows(record))


def _check(_arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(doors: Doors) -> tuple[ConfigError | None, list[RuleWarning], int]:
        rules, problem = doors.rules.read()
        return problem, await doors.rule_warnings(), sum(map(len, rules.values()))

    problem, warnings, count = program.run(work)
    if out.as_json:
        issues = [issue.as_dict() for issue in problem.problems] if isinstance(problem, YamlError) else []
        error = None if problem is None else str(problem)
        out.document({"valid": problem is None, "error": error, "errors": issues, "warnings": warnings})
        return DONE if problem is None else FAILED
    for warning in warnings:
        out.line(f"warning: {warning.place}, door {warning.door}: {warning.detail}")
    if problem is not None:
        out.error(str(problem), _KEPT)
        return FAILED
    out.line(f"{number_of(count, 'rule')}, no errors")
    return DONE


def _last(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(doors: Doors) -> list[DoorRequestRecord]:
        return await doors.requests(readable(arguments.door))

    found = program.run(work)
    if out.as_json:
        out.document(found)
    elif found:
        for each in found[::-1]:
            _print(out, each)
        out.note(f"`tocsin doors rule {readable(arguments.door)} --write` makes a rule from the newest.")
    else:
        out.note("no requests within the last 7 days")
    return DONE


def _print(out: Console, request: DoorRequestRecord) -> None:
    out.line(f"{request.id}  {short_time(request.at, 19)}  {request.state}  {request.status}  from {request.client}")
    facts = {
        "note": request.note,
        "title": request.title,
        "text": request.text,
        "severity": request.severity,
        "key": request.key,
        "link": request.link,
        "profile": request.profile,
        "deliveries": ", ".join(request.deliveries),
    }
    for name, value in facts.items():
        if value:
            out.line(f"  {name}: {value}" if "\n" not in value else f"  {name}: {_indented(value.splitlines())}")
    if request.payload:
        payload = request.payload[:_SHOWN_PAYLOAD]
        more = "\n  …" if len(request.payload) > _SHOWN_PAYLOAD else ""
        out.text(f"  payload: {_indented(payload.splitlines())}{more}\n")


def _indented(lines: Sequence[str]) -> str:
    return "\n    ".join(lines)
