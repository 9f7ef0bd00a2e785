"""cron list, show, logs, next, upcoming."""

import argparse
from collections.abc import Mapping, Sequence

from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import field_rows
from tocsin.core.time.timestamps import timestamp
from tocsin.features.cron.definitions.upcoming import Upcoming
from tocsin.features.cron.model import CronJob, JobState
from tocsin.features.cron.records import (
    CronJobRecord,
    CronJobSummary,
    due_record,
    job_record,
    job_records,
    local_time,
    next_time,
    upcoming_text,
)
from tocsin.features.cron.service import CronJobs
from tocsin.runs.log_file import LogPage
from tocsin.runs.model import Run, RunStatus
from tocsin.terminal.output import DONE, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import add_limit, readable, whole_number

_USUAL_HOURS, _MAX_UPCOMING, _MOST = 24, 1_000, 9_999


def configure_views(commands: Mapping[str, argparse.ArgumentParser]) -> None:
    commands["list"].epilog = "example: tocsin cron list --tag backup"
    commands["list"].add_argument("--tag", default="", help="tag of the jobs")
    commands["list"].add_argument("--state", type=JobState, choices=list(JobState), help="state of the jobs")
    commands["list"].set_defaults(run=_list)
    commands["show"].epilog = "example: tocsin cron show backup"
    commands["show"].add_argument("job", help="name or ID of the job")
    commands["show"].set_defaults(run=_show)
    commands["logs"].epilog = "example: tocsin cron logs backup -n 20"
    commands["logs"].add_argument("job", help="name or ID of the job")
    commands["logs"].add_argument(
        "--run", dest="run_id", help="ID of a run whose output to print instead of the newest"
    )
    commands["logs"].add_argument(
        "--status", choices=[str(status) for status in RunStatus], help="state of the runs; may be repeated"
    )
    add_limit(commands["logs"], 10, _MOST, "runs")
    commands["logs"].set_defaults(run=_logs)
    commands["next"].epilog = 'example: tocsin cron next "30 2 * * *" --timezone Europe/Berlin'
    commands["next"].add_argument("schedule", metavar="SCHEDULE|JOB", help="schedule, or name or ID of a job")
    commands["next"].add_argument("--timezone", "--zone", default="", metavar="ZONE", help="IANA time zone")
    commands["next"].add_argument(
        "-n", "--limit", type=whole_number(1, _MOST), default=5, metavar="N", help="number of runs to list (default: 5)"
    )
    commands["next"].set_defaults(run=_next)
    commands["upcoming"].epilog = "example: tocsin cron upcoming --hours 48"
    commands["upcoming"].add_argument(
        "--hours", type=whole_number(1, _MOST), default=_USUAL_HOURS, metavar="N", help="number of hours (default: 24)"
    )
    commands["upcoming"].set_defaults(run=_upcoming)


def _list(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> tuple[list[tuple[CronJob, CronJobSummary]], str]:
        found = await jobs.search(state=arguments.state, tag=readable(arguments.tag))
        return list(zip(found, await job_records(jobs, found), strict=True)), jobs.files.problem

    found, problem = program.run(work)
    if out.as_json:
        out.document([record for _, record in found])
    elif not found:
        out.note("no jobs; add one with `tocsin cron add`")
    else:
        out.table(("name", "schedule", "state", "next run", "last run"), [_row(*each) for each in found])
        for job, _ in found:
            if job.problem:
                out.error(job.problem, "the last valid version remains active" if job.definition else "")
    if problem:
        out.error(problem, "the jobs are unchanged")
    return MISUSED if problem or any(job.problem for job, _ in found) else DONE


def _row(job: CronJob, record: CronJobSummary) -> tuple[str, ...]:
    last, schedule = record.last_run, job.definition.schedule if job.definition else ""
    ended = f"{last.status} {local_time(job, last.started_at or last.scheduled_for)}" if last else ""
    return job.name, schedule, record.state, next_time(job), ended


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> CronJobRecord:
        return await job_record(jobs, await jobs.get(readable(arguments.job)))

    record = program.run(work)
    rows = field_rows(record, {"next_runs", "recent", "last_run", "next_run_at"})
    rows += [("next run", upcoming_text(each)) for each in record.next_runs]
    if last := record.summary.last_run:
        rows.append(("last run", f"{last.status} {timestamp(last.started_at) or ''} {last.reason or ''}".strip()))
        rows.append(("delivery", str(last.delivery.status)))
    return out.listing(record, ("field", "value"), rows)


def _logs(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> tuple[CronJob, Sequence[Run], Run | None, LogPage | None]:
        job = await jobs.get(readable(arguments.job))
        status = [RunStatus(arguments.status)] if arguments.status else []
        runs = (await jobs.runs_of(job, status, arguments.limit)).items
        if arguments.run_id:
            chosen: Run | None = await jobs.run_of(job, readable(arguments.run_id))
        else:
            chosen = next((run for run in runs if run.started_at is not None), None)
        return job, runs, chosen, await jobs.runs().log(chosen.id) if chosen else None

    job, runs, chosen, page = program.run(work)
    if out.as_json:
        log = {"run_id": chosen.id, **to_json(page)} if chosen and page else None
        out.document({"items": runs, "log": log})
        return DONE
    if not runs:
        out.note("the job has not run yet")
    out.table(("run", "status", "due", "started", "took", "delivery", "reason"), [_run_row(job, run) for run in runs])
    if chosen and page:
        out.note(f"output of {chosen.id}:")
        for line in page.lines:
            out.text(line.text)
    return DONE


def _run_row(job: CronJob, run: Run) -> tuple[str, ...]:
    due, started = (local_time(job, at, seconds=True) for at in (run.scheduled_for, run.started_at))
    took = "" if run.duration_ms is None or run.started_at is None else f"{run.duration_ms} ms"
    return run.id, str(run.status), due, started, took, str(run.delivery.status), run.reason or ""


def _next(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: CronJobs) -> tuple[str, str, list[Upcoming]]:
        text = readable(arguments.schedule)
        try:
            job = await jobs.get(text)
        except TocsinError:
            zone = readable(arguments.timezone) or jobs.zone
            return text, *jobs.next_of(text, zone, arguments.limit)
        schedule, zone = job.schedule(), job.valid().timezone
        return job.name, schedule.words(), jobs.preview(schedule, zone, arguments.limit, job=job)

    of, words, found = program.run(work)
    if out.as_json:
        out.document({"schedule": of, "schedule_text": words, "next_runs": found})
        return DONE
    out.line(words)
    for each in found:
        out.line(f"  {each.local:%a %Y-%m-%d %H:%M:%S %z}{'  ' + each.note if each.note else ''}")
    if not found:
        out.note("no future runs")
    return DONE


def _upcoming(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    found = program.run(lambda jobs: jobs.upcoming(arguments.hours, _MAX_UPCOMING))
    return out.listing(
        [due_record(each) for each in found],
        ("when", "zone", "job", "note"),
        ((f"{each.local:%Y-%m-%d %H:%M:%S}", each.local.tzname() or "", job.name, each.note) for job, each in found),
        empty=f"no jobs are due in the next {arguments.hours} h",
    )
