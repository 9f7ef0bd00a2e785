"""The cron jobs of a data directory as the rest of the program uses them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tocsin.features.context import (
    AttentionItem,
    FeatureContext,
    NextRun,
    NoticeLevel,
    SubsystemState,
    SubsystemStatus,
)
from tocsin.features.cron.model import UnknownJobError
from tocsin.features.cron.records import job_record
from tocsin.features.cron.scheduler import Scheduler
from tocsin.features.cron.service import CronJobs
from tocsin.runs.model import RunKind
from tocsin.terminal.findings import number_of


def open_cron(context: FeatureContext) -> CronJobs:
    """Return the jobs of the data directory."""
    return CronJobs(context)


def scheduler_of(jobs: CronJobs) -> Scheduler:
    """Return what runs the jobs beside the other services."""
    return jobs.scheduler()


async def live_records(jobs: CronJobs, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return by ID the records of those jobs that there are."""
    found = {}
    for job_id in ids:
        with suppress(UnknownJobError):  # it was removed meanwhile
            found[job_id] = await job_record(jobs, await jobs.get(job_id), detailed=False)
    return found


async def subsystem_of(jobs: CronJobs) -> SubsystemStatus:
    """Return the state of cron: how many jobs there are, which fail, and what is next."""
    found = await jobs.all()
    if not found:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no jobs")
    failing, troubles = await jobs.failing(), await jobs.troubles()
    due = [NextRun(job.id, job.name, job.next_at) for job in found if job.next_at is not None]
    counts = {"jobs": len(found), "scheduled": len(due), "running": len(await jobs.running_ids()), "failing": failing}
    said = f"{number_of(len(found), 'job')}, {len(due)} scheduled" + (f", {failing} failing" if failing else "")
    attention = [AttentionItem(NoticeLevel.WARNING, trouble.detail, "#/cron") for trouble in troubles]
    for job in found:
        if job.auto_disabled:
            said_of = f"the job {job.name} is disabled: {job.paused_reason}"
            attention.append(AttentionItem(NoticeLevel.ERROR, said_of, f"#/cron/{job.id}"))
        if job.problem:
            said_of = f"the job {job.name} has mistakes in {job.file}"
            attention.append(AttentionItem(NoticeLevel.ERROR, said_of, f"#/cron/{job.id}"))
    if failing:
        told = f"{number_of(failing, 'cron job')} failed the last time: `tocsin cron list`"
        attention.append(AttentionItem(NoticeLevel.ERROR, told, "#/cron"))
    newest = (await jobs.runs().search(RunKind.CRON, limit=1)).items
    return SubsystemStatus(
        SubsystemState.DEGRADED if attention else SubsystemState.OK,
        said,
        counts,
        newest[0].queued_at if newest else None,
        attention=attention,
        next_runs=due,
    )
