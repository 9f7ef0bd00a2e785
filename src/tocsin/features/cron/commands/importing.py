"""cron import: take over a crontab."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.cron.commands.changing import CALLER
from tocsin.features.cron.commands.crontab import CrontabProblem, ReadCrontab, read_crontab
from tocsin.features.cron.model import CronJob
from tocsin.features.cron.service import CronJobs
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import message_of


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin cron import`."""
    parser.epilog = (
        "example: crontab -l | tocsin cron import - --dry-run\n\n"
        "exit code 0: every job was taken over, 1: some lines were not"
    )
    parser.add_argument("file", help="a crontab; `-` reads standard input")
    parser.add_argument(
        "--user-column", action="store_true", help="lines name a user before the command, as in /etc/crontab"
    )
    parser.add_argument("--output", metavar="DESTINATION", help="where the output of the jobs goes")
    parser.add_argument("--disabled", action="store_true", help="the jobs do not run at their times for now")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be taken over")
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    text = message_of("-", out) if arguments.file == "-" else _content(arguments)
    more: dict[str, Any] = {"enabled": False} if arguments.disabled else {}
    if arguments.output:
        more["output"] = arguments.output

    async def work(jobs: CronJobs) -> tuple[list[dict[str, Any]], list[CrontabProblem], int]:
        there = await jobs.all() if jobs.are_kept else []
        found = read_crontab(text, user_column=arguments.user_column, taken=frozenset(job.name for job in there))
        known = _drop_known(found, there, jobs.zone)
        if arguments.dry_run:
            return [_record(found, None, jobs.zone, fields) for fields in found.jobs], found.remarks, known
        return await _add(jobs, found, more), found.remarks, known

    done, remarks, known = program.run(work, writes=not arguments.dry_run)
    if not arguments.dry_run:
        out.effect_done("the jobs were added")
    lost = sum(remark.lost for remark in remarks)
    if out.as_json:
        out.document({"jobs": done, "known": known, "remarks": [remark._asdict() for remark in remarks]})
        return FAILED if lost else DONE
    for job in done:
        out.line(job["summary"])
    for remark in remarks:
        out.error(f"{arguments.file}:{remark.line}: {remark.detail}")
    before = f", {number_of(known, 'job')} there already" if known else ""
    out.note(f"{number_of(len(done), 'job')}, {number_of(lost, 'line')} not taken over{before}")
    return FAILED if lost else DONE


def _record(found: ReadCrontab, added: str | None, zone: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of a job: in fields for programs, in a sentence for people; `added` is its ID."""
    name, schedule = fields["name"], fields["schedule"]
    summary = f"added {name}: {schedule}" if added else f"{name}: {schedule}  {fields['command']}"
    return {"id": added, "line": found.lines[name], "timezone": zone, **fields, "summary": summary}


def _drop_known(found: ReadCrontab, there: Sequence[CronJob], zone: str) -> int:
    """Drop the jobs that an earlier import of the same lines has added, and return how many these are."""
    known = Counter(
        (each.schedule, each.command, each.timezone, *sorted(each.env.items()))
        for each in (job.definition for job in there)
        if each is not None
    )
    fresh = []
    for job in found.jobs:
        key = (job["schedule"], job["command"], job.get("timezone", zone), *sorted(job["env"].items()))
        if known[key]:
            known[key] -= 1
        else:
            fresh.append(job)
    dropped = len(found.jobs) - len(fresh)
    found.jobs[:] = fresh
    return dropped


async def _add(jobs: CronJobs, found: ReadCrontab, more: dict[str, Any]) -> list[dict[str, Any]]:
    added = []
    for fields in found.jobs:
        try:
            job = await jobs.add({**fields, **more}, CALLER)
        except TocsinError as error:
            found.lose(found.lines[fields["name"]], f"{fields['name']}: {error.sentence()}")
        else:
            added.append(_record(found, job.id, jobs.zone, fields))
    return added


def _content(arguments: argparse.Namespace) -> str:
    from pathlib import Path

    from tocsin.core.storage.files import read_limited

    return read_limited(Path(arguments.file)).decode(errors="replace")
