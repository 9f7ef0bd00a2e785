"""A job in its public form: with `--json`, and in the dashboard."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from math import ceil
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import timestamp
from tocsin.features.cron.definitions.upcoming import JobPreview, Upcoming, UpcomingRun
from tocsin.features.cron.model import KIND, CronJob, JobDefinition
from tocsin.features.cron.running import count_failures
from tocsin.features.cron.service import CronJobs
from tocsin.runs.model import RunSummary
from tocsin.runs.queue import RunGlimpse, SubjectPast
from tocsin.scheduling.zones import zone_of

SHOWN_RUNS, NEXT_RUNS = 30, 5
HISTORY = 200
_MONTH_S = 30 * 86_400
# Of a file that never was valid.
_UNKNOWN: dict[str, Any] = dict.fromkeys(each.name for each in fields(JobDefinition)) | {"tags": []}


async def job_record(jobs: CronJobs, job: CronJob) -> dict[str, Any]:
    """Return a job, and when it is due next."""
    [record] = await job_records(jobs, [job])
    return {**record, "next_runs": next_runs(jobs, job, NEXT_RUNS)}


async def job_records(jobs: CronJobs, found: Sequence[CronJob]) -> list[dict[str, Any]]:
    """Return jobs as lists show them."""
    pasts = await jobs.runs().store.records.pasts(KIND, [job.id for job in found], HISTORY)
    return [_record(jobs, job, past) for job, past in zip(found, pasts, strict=True)]


def _record(jobs: CronJobs, job: CronJob, past: SubjectPast) -> dict[str, Any]:
    ran = [run for run in past.history if run.started_at is not None]
    now, definition = jobs.now(), job.definition
    running = any(run.finished_at is None for run in ran)
    return {
        "id": job.id,
        **(definition.document() if definition else {**_UNKNOWN, "name": job.name}),
        "enabled": job.enabled,
        "paused_until": timestamp(job.paused_until),
        "source": str(job.source),
        "file": job.file or None,
        "problem": job.problem or None,
        "state": str(job.state(now, is_running=running)),
        "schedule_text": _words(job),
        "next_run_at": timestamp(job.next_at),
        "last_run": to_json(past.last, RunSummary) if past.last else None,
        "recent": [_brief(run) for run in ran[:SHOWN_RUNS]],
        "consecutive_failures": count_failures([run for run in ran if run.finished_at], job.failures_since),
        **_figures([run for run in ran if run.finished_at and run.queued_at > now - _MONTH_S]),
        "paused_reason": job.paused_reason or None,
        "created_at": timestamp(job.created_at),
        "updated_at": timestamp(job.updated_at),
        "created_by": job.created_by,
    }


def next_runs(jobs: CronJobs, job: CronJob, count: int) -> list[dict[str, Any]]:
    """Return the next runs of a job, none where it has none."""
    if job.next_at is None or job.definition is None:
        return []
    return [upcoming_record(each) for each in jobs.preview(job.schedule(), job.definition.timezone, count, job=job)]


def upcoming_record(each: Upcoming) -> dict[str, Any]:
    """Return an instant to come."""
    return {"at": timestamp(each.at), "local": each.local.isoformat(timespec="seconds"), "note": each.note or None}


def due_record(each: UpcomingRun) -> dict[str, Any]:
    """Return an instant to come of a job."""
    return {"job_id": each.job.id, "name": each.job.name, **upcoming_record(each.upcoming)}


def preview_record(preview: JobPreview) -> dict[str, Any]:
    """Return what a definition would do."""
    return {
        **preview.definition.document(),
        "schedule_text": preview.words,
        "next_runs": [upcoming_record(each) for each in preview.upcoming],
        "warnings": list(preview.warnings),
    }


def next_time(job: CronJob) -> str:
    """Return when a job is due next, in its own zone; empty if it is not."""
    if job.next_at is None or job.definition is None:
        return "after a start of the machine" if job.enabled and job.is_at_start else ""
    zone = zone_of(job.definition.timezone)
    return f"{datetime.fromtimestamp(job.next_at, zone):%Y-%m-%d %H:%M} {zone.key}"


def _words(job: CronJob) -> str | None:
    try:
        words = job.schedule().words()
    except TocsinError:
        return None
    jitter = f", {job.offset} s later" if job.offset else ""
    return words + jitter


def _brief(run: RunGlimpse) -> dict[str, Any]:
    return {
        "id": run.id,
        "status": run.status,
        "started_at": timestamp(run.started_at),
        "duration_ms": run.duration_ms,
    }


def _figures(ended: Sequence[RunGlimpse]) -> dict[str, float | int | None]:
    durations = sorted(run.duration_ms or 0 for run in ended)
    return {
        "success_rate_30d": round(sum(run.ok for run in ended) / len(ended), 4) if ended else None,
        "duration_p50_ms": _share(durations, 0.5),
        "duration_p95_ms": _share(durations, 0.95),
    }


def _share(durations: Sequence[int], share: float) -> int | None:
    return durations[ceil(share * len(durations)) - 1] if durations else None
