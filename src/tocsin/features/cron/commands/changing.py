"""cron add, edit, enable, disable, run, remove."""

import argparse
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from tocsin.features.cron.commands.fields import add_fields, fields_of
from tocsin.features.cron.model import CronJob
from tocsin.features.cron.records import CronJobRecord, job_record, next_time, upcoming_text
from tocsin.features.cron.service import CronJobs
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import Line, Run
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import moment, name_and_value, readable

CALLER = Caller("cli")


def configure_changes(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    _configure_add(commands["add"])
    _configure_edit(commands["edit"])
    for name in ("enable", "disable", "run", "remove"):
        commands[name].add_argument("job", help="name or ID of the job; `tocsin cron list` shows them")
    commands["enable"].epilog = "example: tocsin cron enable backup"
    commands["enable"].set_defaults(run=_enable)
    commands["disable"].epilog = 'example: tocsin cron disable backup --until 2026-12-01T09:00Z --reason "move"'
    commands["disable"].add_argument("--reason", default="", help="reason to show with the job")
    commands["disable"].add_argument(
        "--until", type=moment, metavar="TIME", help="time at which the schedule is enabled again"
    )
    commands["disable"].set_defaults(run=_disable)
    commands["run"].epilog = "example: tocsin cron run backup\n\nexit code 0: the run succeeded, 1: it failed"
    commands["run"].add_argument(
        "--param", action="append", default=[], type=name_and_value, metavar="K=V", help="parameter of this run"
    )
    commands["run"].add_argument("--force", action="store_true", help="run the job even if it is running already")
    commands["run"].set_defaults(run=_run)
    commands["remove"].epilog = "example: tocsin cron remove backup --yes"
    commands["remove"].add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    commands["remove"].add_argument(
        "--force", action="store_true", help="cancel the job if it is running, then remove it"
    )
    commands["remove"].set_defaults(run=_remove)


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'example: tocsin cron add backup "0 3 * * *" "./backup.sh" --timezone Europe/Berlin --output oncall\n\n'
        "SCHEDULE: five fields as in crontab, @hourly to @yearly, `every 15m`, `at 2026-12-01T09:00`, "
        "or `at start`"
    )
    parser.add_argument("name_", nargs="?", metavar="NAME", help="new name, for example backup")
    parser.add_argument("schedule_", nargs="?", metavar="SCHEDULE", help="schedule of the job")
    parser.add_argument(
        "command_", nargs="?", metavar="COMMAND", help="command, or the name of what to run (see --type)"
    )
    add_fields(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="check the job and show its next runs without storing it"
    )
    parser.set_defaults(run=_add, free_text="command_")


def _configure_edit(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: tocsin cron edit backup --schedule "30 4 * * *" --output-on failure,recovery'
    parser.add_argument("job", help="name or ID of the job; `tocsin cron list` shows them")
    add_fields(parser)
    parser.set_defaults(run=_edit)


def _add(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    fields = fields_of(arguments)
    for name in ("name", "schedule", "command"):
        given = getattr(arguments, f"{name}_")
        if given is not None and name in fields:
            arguments.parser.error(f"the {name} was given twice")
        if given is not None:
            fields[name] = readable(given)
        if name not in fields:
            arguments.parser.error(f"the {name} is missing")
    if arguments.dry_run:
        return _preview(fields, out, program)

    async def work(jobs: CronJobs) -> tuple[CronJob, CronJobRecord, Sequence[str]]:
        warnings = (await jobs.check(fields)).warnings
        job = await jobs.add(fields, CALLER)
        return job, await job_record(jobs, job), warnings

    job, record, warnings = program.run(work, writes=True)
    out.effect_done("the job was added")
    for warning in warnings:
        out.note(warning)
    if not out.as_json:
        out.note("Scheduled runs need a running `tocsin up`.")
    return out.answer(record, f"added {job.name}: {record.summary.schedule_text}", *_next_run(job))


def _preview(fields: Mapping[str, Any], out: Console, program: Program) -> int:
    record = program.run(lambda jobs: jobs.check(fields))
    if out.as_json:
        out.document(record)
        return DONE
    out.line(record.schedule_text)
    for run in record.next_runs:
        out.line(f"  {upcoming_text(run)}")
    for warning in record.warnings:
        out.note(warning)
    return DONE


def _edit(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    changes = fields_of(arguments)
    if not changes:
        arguments.parser.error("no changes requested: give at least one option")
    return _changed(lambda jobs: jobs.edit(readable(arguments.job), changes, CALLER), "changed", out, program)


def _enable(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    return _changed(lambda jobs: jobs.enable(readable(arguments.job), CALLER), "enabled", out, program)


def _disable(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    reason, until = readable(arguments.reason), arguments.until
    return _changed(lambda jobs: jobs.disable(readable(arguments.job), CALLER, reason, until), "disabled", out, program)


def _changed(change: Any, done: str, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> tuple[CronJob, CronJobRecord]:
        made: Coroutine[Any, Any, CronJob] = change(jobs)
        job = await made
        return job, await job_record(jobs, job)

    job, record = program.run(work, writes=True)
    out.effect_done(f"the job was {done}")
    return out.answer(record, f"{done} {job.name}", *_next_run(job))


def _next_run(job: CronJob) -> list[str]:
    """Return the line that tells when a job runs next; no line for a job that is not due."""
    due = next_time(job)
    return [f"next run: {due}"] if due else []


def _run(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    params = dict(arguments.param)

    def show(line: Line) -> None:
        (out.aside if line.stream == "stderr" else out.text)(line.plain)

    async def work(jobs: CronJobs) -> Run:
        out.effect_done("the job was run")
        return await jobs.start(readable(arguments.job), CALLER, params, force=arguments.force, watch=show)

    run = program.run(work, writes=True)
    return out.answer(run, ok=run.ok, error=f"{run.subject_name}: {run.status}: {run.reason}")


def _remove(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> CronJob:
        job = await jobs.get(readable(arguments.job))
        await out.confirm(f"Remove the job {job.name}?", yes=arguments.yes)
        return await jobs.remove(job.id, CALLER, force=arguments.force)

    job = program.run(work, writes=True)
    out.effect_done("the job was removed")
    return out.answer({"id": job.id, "name": job.name, "removed": True}, f"removed {job.name}")
