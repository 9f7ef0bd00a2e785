"""A job in its public form: with `--json`, and in the dashboard."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Annotated, Any

from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import Flat, Time
from tocsin.features.ability_records import ScheduledJob
from tocsin.features.cron.definitions.upcoming import Upcoming, UpcomingRun
from tocsin.features.cron.model import KIND, CronJob, JobState, UnknownJobError
from tocsin.features.cron.service import CronJobs
from tocsin.runs.model import FAILING, RunStatus, RunSummary
from tocsin.runs.queue import RecentRun, SubjectPast
from tocsin.scheduling.zones import load_zone

SHOWN_RUNS, NEXT_RUNS = 30, 5
HISTORY = 200
_MONTH_S = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJobSummary:
    """Job, as returned in lists."""

    job: Flat[CronJob]
    state: JobState
    schedule_text: Annotated[str | None, "The schedule in words."]
    next_run_at: Time | None
    last_run: RunSummary | None
    recent: Annotated[Sequence[RecentRun], "Newest 30 runs that started."]
    consecutive_failures: int
    success_rate_30d: Annotated[float | None, "From 0 to 1."]
    duration_p50_ms: int | None
    duration_p95_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJobRecord:
    """Job with its next runs."""

    summary: Flat[CronJobSummary]
    next_runs: Sequence[Upcoming]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingJobRun:
    """Scheduled run, with its job."""

    job_id: str
    name: str
    upcoming: Flat[Upcoming]


async def job_record(jobs: CronJobs, job: CronJob) -> CronJobRecord:
    """Return a job, and when it is due next."""
    [summary] = await job_records(jobs, [job])
    return CronJobRecord(summary=summary, next_runs=next_runs(jobs, job, NEXT_RUNS))


async def job_records(jobs: CronJobs, found: Sequence[CronJob]) -> list[CronJobSummary]:
    pasts = await jobs.runs().store.records.pasts(KIND, [job.id for job in found], HISTORY)
    return [_record(jobs, job, past) for job, past in zip(found, pasts, strict=True)]


async def documents_by_id(jobs: CronJobs, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return those of the jobs that exist, as lists show them."""
    found = []
    for job_id in ids:
        with suppress(UnknownJobError):  # it was removed meanwhile
            found.append(await jobs.get(job_id))
    return {record.job.id: to_json(record) for record in await job_records(jobs, found)}


def _record(jobs: CronJobs, job: CronJob, past: SubjectPast) -> CronJobSummary:
    ran = [run for run in past.history if run.started_at is not None]
    ended = [run for run in ran if run.finished_at]
    now = jobs.now()
    lately = [run for run in ended if run.queued_at > now - _MONTH_S]
    durations = sorted(run.duration_ms or 0 for run in lately)
    return CronJobSummary(
        job=job,
        state=job.state(now, is_running=any(run.finished_at is None for run in ran)),
        schedule_text=_words(job),
        next_run_at=job.next_at,
        last_run=past.last,
        recent=ran[:SHOWN_RUNS],
        consecutive_failures=count_failures(past.history, job.failures_since),
        success_rate_30d=round(sum(run.ok for run in lately) / len(lately), 4) if lately else None,
        duration_p50_ms=_share(durations, 0.5),
        duration_p95_ms=_share(durations, 0.95),
    )


async def scheduled_jobs(jobs: CronJobs) -> list[ScheduledJob]:
    """Return all jobs as other features show them."""
    records = await job_records(jobs, await jobs.all() if jobs.are_kept else [])
    return [
        ScheduledJob(
            id=record.job.id,
            name=record.job.name,
            state=_standing(record),
            schedule_text=record.schedule_text or "",
            next_run_at=record.next_run_at,
            last_status=str(record.last_run.status) if record.last_run else "",
            last_run_at=record.last_run.started_at if record.last_run else None,
            link=f"#/cron/{record.job.id}",
        )
        for record in records
    ]


def _standing(record: CronJobSummary) -> str:
    """Return the state as the page of the jobs shows it: after a failure, a waiting job is not merely scheduled."""
    failed = record.last_run is not None and record.last_run.status in FAILING
    return "failing" if failed and record.state is JobState.SCHEDULED else str(record.state)


def next_runs(jobs: CronJobs, job: CronJob, count: int) -> list[Upcoming]:
    if job.next_at is None or job.definition is None:
        return []
    return jobs.preview(job.schedule(), job.definition.timezone, count, job=job)


def due_record(each: UpcomingRun) -> UpcomingJobRun:
    """Return an instant to come of a job."""
    return UpcomingJobRun(job_id=each.job.id, name=each.job.name, upcoming=each.upcoming)


def next_time(job: CronJob) -> str:
    """Return when a job is due next, in its own zone; empty if it is not."""
    if job.next_at is None or job.definition is None:
        return "after a start of the machine" if job.enabled and job.is_at_start else ""
    return f"{local_time(job, job.next_at)} {load_zone(job.definition.timezone).key}"


def local_time(job: CronJob, moment: float | None, *, seconds: bool = False) -> str:
    """Return a moment in the time zone of a job, UTC if its definition is unknown; empty for `None`."""
    if moment is None:
        return ""
    zone = load_zone(job.definition.timezone if job.definition else "UTC")
    return f"{datetime.fromtimestamp(moment, zone):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}"


def upcoming_text(each: Upcoming) -> str:
    """Return an instant in a line of a table."""
    local = each.local.isoformat(timespec="seconds")
    return f"{local}  {each.note}" if each.note else local


def _words(job: CronJob) -> str | None:
    try:
        words = job.schedule().words()
    except TocsinError:
        return None
    jitter = f", {job.offset} s later" if job.offset else ""
    return words + jitter


def _share(durations: Sequence[int], share: float) -> int | None:
    return durations[ceil(share * len(durations)) - 1] if durations else None


def count_failures(history: Sequence[RecentRun], since: float, last: str = "~") -> int:
    """Return how many of the newest runs, up to the run `last`, failed in a row.

    Cancelled runs do not count, nor those that are retried, even if the retry is still queued.
    """
    repeated, failures = {run.retry_of for run in history}, 0
    for run in history:
        if not run.started_at or not run.finished_at or run.id > last:
            continue
        if run.ok or run.queued_at < since:
            break
        failures += run.status != RunStatus.CANCELLED and run.id not in repeated
    return failures
