"""cron import: take over a crontab."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.process.identity import boot_id
from tocsin.core.storage.files import read_limited
from tocsin.core.text.strings import number_of
from tocsin.features.cron.commands.changing import CALLER
from tocsin.features.cron.commands.crontab import CrontabLine, CrontabProblem, ReadCrontab, read_crontab
from tocsin.features.cron.model import CronJob, InvalidJobError
from tocsin.features.cron.service import CronJobs
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message


def configure_import(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: crontab -l | tocsin cron import - --dry-run\n\n"
        "exit code 0: all jobs were imported, 1: some lines were not"
    )
    parser.add_argument("file", help="crontab file; `-` reads standard input")
    parser.add_argument(
        "--user-column", action="store_true", help="expect a user before each command, as in /etc/crontab"
    )
    parser.add_argument("--output", metavar="DESTINATION", help="destination of the jobs' output, instead of MAILTO")
    parser.add_argument("--disabled", action="store_true", help="import the jobs with their schedules disabled")
    parser.add_argument("--dry-run", action="store_true", help="print what would be imported, and store nothing")
    parser.set_defaults(run=_import)


class _Imported(NamedTuple):
    """The result of an import, or of its dry run."""

    jobs: list[dict[str, Any]]
    remarks: list[CrontabProblem]
    known: int  # of an earlier import
    lines: list[CrontabLine]  # of all jobs that there are now


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    text = read_message("-", out) if arguments.file == "-" else _content(arguments)

    async def work(jobs: CronJobs) -> _Imported:
        there = await jobs.all() if jobs.are_kept else []
        names = frozenset(job.name for job in there)
        found = read_crontab(text, home=_home(), user_column=arguments.user_column, taken=names)
        lines, known = list(found.lines.values()), _drop_known(found, there, jobs.zone)
        done = await _add(jobs, found, arguments)
        lost = {remark.line for remark in found.remarks if remark.lost}
        return _Imported(done, found.remarks, known, [line for line in lines if line.number not in lost])

    imported = program.run(work, writes=not arguments.dry_run)
    if not arguments.dry_run:
        out.effect_done("the jobs were added")
    lost = sum(remark.lost for remark in imported.remarks)
    if out.as_json:
        remarks = [remark._asdict() for remark in imported.remarks]
        out.document({"jobs": imported.jobs, "known": imported.known, "remarks": remarks})
        return FAILED if lost else DONE
    for job in imported.jobs:
        out.line(job["summary"])
    for remark in imported.remarks:
        out.error(f"{arguments.file}:{remark.line}: {remark.detail}")
    before = f", {number_of(imported.known, 'job')} already there" if imported.known else ""
    out.note(f"{number_of(len(imported.jobs), 'job')}, {number_of(lost, 'line')} not imported{before}")
    if imported.lines and not arguments.dry_run:
        _tell_what_to_remove(arguments, imported.lines, out)
    return FAILED if lost else DONE


def _tell_what_to_remove(arguments: argparse.Namespace, lines: Sequence[CrontabLine], out: Console) -> None:
    where = "your crontab" if arguments.file == "-" else arguments.file
    if arguments.disabled:
        out.line(f"before you enable the jobs, remove these lines from {where}; otherwise the commands run twice:")
    else:
        out.line(f"remove these lines from {where} now; otherwise the commands run twice while `tocsin up` runs:")
    for line in lines:
        out.line(f"{line.number:>4}  {line.text}")


def _home() -> str:
    """Return the home directory, in which cron runs commands."""
    from pathlib import Path

    try:
        return str(Path.home())
    except RuntimeError:  # this user has none
        return ""


def _record(found: ReadCrontab, added: str | None, zone: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a job as fields for programs or as a sentence for people; `added` is its ID."""
    name, schedule = fields["name"], fields["schedule"]
    summary = f"added {name}: {schedule}" if added else f"{name}: {schedule}  {fields['command']}"
    return {"id": added, "line": found.lines[name].number, "timezone": zone, **fields, "summary": summary}


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


async def _add(jobs: CronJobs, found: ReadCrontab, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Add the jobs, or with `--dry-run` only check them; return their records."""
    boot, added = boot_id(), []
    for read in found.jobs:
        line = found.lines[read["name"]].number
        fields = _with_options(read, arguments)
        try:
            fields = _without_refused_output(jobs, found, line, fields)
            # Cron has run what stands at @reboot: it is due at the next start of the machine.
            job = None if arguments.dry_run else await jobs.add(fields, CALLER, boot=boot)
        except TocsinError as error:
            found.lose(line, f"{fields['name']}: {error.sentence()}")
        else:
            added.append(_record(found, job.id if job else None, jobs.zone, fields))
    return added


def _with_options(read: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    fields = {**read, "enabled": False} if arguments.disabled else dict(read)
    if arguments.output:
        fields.pop("output_on", None)
        fields["output"] = arguments.output
    return fields


def _without_refused_output(jobs: CronJobs, found: ReadCrontab, line: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields that make a job, without the address of MAILTO if no mail can be sent; raise InvalidJobError."""
    try:
        jobs.read(fields)
    except InvalidJobError as error:
        if "output_on" not in fields or [issue.steps for issue in error.issues] != [("output",)]:
            raise
        found.note(line, f"its output is not sent to {fields['output']}: {error.issues[0].detail}")
        return {name: value for name, value in fields.items() if name not in {"output", "output_on"}}
    return fields


def _content(arguments: argparse.Namespace) -> str:
    from pathlib import Path

    return read_limited(Path(arguments.file)).decode(errors="replace")
