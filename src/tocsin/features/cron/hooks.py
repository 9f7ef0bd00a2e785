"""The cron jobs of a data directory as the rest of the program uses them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.core.text.strings import number_of
from tocsin.features.ability_records import ScheduledJob
from tocsin.features.context import (
    AttentionItem,
    NextRun,
    NoticeLevel,
    ProfileUse,
    SubsystemState,
    SubsystemStatus,
)
from tocsin.features.cron.records import documents_by_id, scheduled_jobs
from tocsin.features.cron.service import CronJobs
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import ActiveRun

NAMED = 3  # failing jobs that the status names


async def live_records(jobs: CronJobs, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the records of the jobs that exist, by ID."""
    return dict(await documents_by_id(jobs, ids))


async def start_job(jobs: CronJobs, name_or_id: str, asked: StartRequest) -> ActiveRun:
    """Run a job now, or as in an earlier run; its schedule does not change."""
    caller = Caller.of(asked.source, asked.actor)
    if asked.retry:
        return await jobs.begin_again(asked.retry, caller)
    return await jobs.begin(
        name_or_id, caller, asked.params, trigger=asked.cause, parent_run_id=asked.parent_run_id, run_id=asked.run_id
    )


async def list_jobs(jobs: CronJobs) -> Sequence[str]:
    return [job.name for job in await jobs.all()]


class CronSchedules:
    """The jobs that start something: `Schedules`."""

    def __init__(self, jobs: CronJobs) -> None:
        self._jobs = jobs

    async def jobs(self) -> Sequence[ScheduledJob]:
        return await scheduled_jobs(self._jobs)

    async def jobs_by_subject(self, kind: str, /) -> Mapping[str, Sequence[str]]:
        """Return by subject the IDs of the jobs that start its runs, for one kind, such as workflows."""
        found: dict[str, list[str]] = {}
        for job in await self._jobs.all():
            if job.definition and job.definition.type == kind:
                found.setdefault(job.definition.command, []).append(job.id)
        return found


async def check_subsystem(jobs: CronJobs) -> SubsystemStatus:
    """Return the state of cron: the number of jobs, the failing ones, and the next run."""
    found = await jobs.all()
    if not found:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no jobs")
    failing, troubles = await jobs.failing(), await jobs.troubles()
    due = [NextRun(job.id, job.name, job.next_at) for job in found if job.next_at is not None]
    counts = {
        "jobs": len(found),
        "scheduled": len(due),
        "running": len(await jobs.running_ids()),
        "failing": len(failing),
    }
    said = f"{number_of(len(found), 'job')}, {len(due)} scheduled" + (f", {len(failing)} failing" if failing else "")
    attention = [AttentionItem(NoticeLevel.WARNING, trouble.detail, "#/cron") for trouble in troubles]
    for job in found:
        if job.auto_disabled:
            said_of = f"job {job.name} is disabled: {job.paused_reason}"
            attention.append(AttentionItem(NoticeLevel.ERROR, said_of))
        if job.problem:
            said_of = f"job {job.name} has errors in {job.file}"
            attention.append(AttentionItem(NoticeLevel.ERROR, said_of))
    attention += [
        AttentionItem(NoticeLevel.ERROR, f"the last run of cron job {job.name} failed", f"#/runs/{failing[job.id]}")
        for job in [job for job in found if job.id in failing][:NAMED]
    ]
    if len(failing) > NAMED:
        told = f"the last run of {number_of(len(failing) - NAMED, 'further cron job')} failed"
        attention.append(AttentionItem(NoticeLevel.ERROR, told, "#/cron?state=failing"))
    newest = (await jobs.runs().search("cron", limit=1)).items
    return SubsystemStatus(
        SubsystemState.DEGRADED if attention else SubsystemState.OK,
        said,
        counts,
        newest[0].queued_at if newest else None,
        attention=attention,
        next_runs=due,
    )


async def profile_uses(jobs: CronJobs) -> list[ProfileUse]:
    """Return the jobs whose output goes to a profile."""
    found = await jobs.all() if jobs.are_kept else []
    outputs = [(job.name, job.definition.output) for job in found if job.definition is not None]
    return [ProfileUse(output, "cron", name) for name, output in outputs if output and ":" not in output]


HOOKS = FeatureHooks[CronJobs](
    open=CronJobs,
    subsystems={"cron": check_subsystem},
    live={"cron": live_records},
    provides=ProvidedAbilities(schedules=CronSchedules),
    starts={"cron": start_job},
    subjects={"cron": list_jobs},
    profile_uses=profile_uses,
)
