"""The task jobs of a data directory as the rest of the program uses them."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import TocsinError
from tocsin.core.process.git import GIT_DIRECTORIES, GitProgram
from tocsin.core.records.as_json import to_json
from tocsin.core.service import ServiceLoop
from tocsin.features.context import FeatureContext
from tocsin.features.hooks import FeatureHooks
from tocsin.features.jobs.execution import JobRuns
from tocsin.features.jobs.git.places import RepositoryPlaces
from tocsin.features.jobs.model import TaskConflictError, TaskJobStatus
from tocsin.features.jobs.service import TaskJobs
from tocsin.features.jobs.settings import JOB_HOOKS, JOB_REPOSITORIES
from tocsin.features.jobs.store import TaskJobFilter, TaskJobStore
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import NotRetriedError, StartRequest
from tocsin.runs.engine.active_run import ActiveRun

log = logging.getLogger(__name__)

WORKTREES = "worktrees"
LOOK_S = 5.0  # how soon a commit in a work tree, or the end of another process, is seen
LIVELY_S = 60.0
SHOWN_IN_CHATS = 20


def open_jobs(context: FeatureContext) -> TaskJobs:
    """Return the task jobs of the data directory."""
    settings = context.settings
    program = GitProgram(context.environment, context.data_dir / GIT_DIRECTORIES, trusted=settings[JOB_HOOKS])
    places = RepositoryPlaces(settings[JOB_REPOSITORIES], program, context.data_dir / WORKTREES)
    return TaskJobs(context, TaskJobStore(context.database), places)


async def start_job(jobs: TaskJobs, job_id: str, asked: StartRequest) -> ActiveRun:
    """Start a queued job that has a command or a skill."""
    if asked.retry is not None:
        raise NotRetriedError("a task job runs only once", hint="create another one")
    job = await jobs.get(job_id)
    if not job.has_work:
        hint = "start it with `tocsin jobs start`"
        raise TaskConflictError(f"task job {job.id} has no command or skill to run", hint=hint)
    caller = Caller.of(asked.source, asked.actor)
    started = await jobs.start(
        job.id, caller, cause=asked.cause, parent_run_id=asked.parent_run_id, run_id=asked.run_id
    )
    if started.run is None:
        raise AssertionError(job.id)
    return started.run


async def startable_jobs(jobs: TaskJobs) -> Sequence[str]:
    """Return the IDs of the queued jobs that have a command or a skill."""
    return [job.id for job in await jobs.store.startable() if job.has_work]


async def status_of(jobs: TaskJobs) -> list[str]:
    """Return the line for `/status`; none if no job is queued or running."""
    counts = {
        status: (await jobs.store.search(TaskJobFilter(status=(status,), limit=1))).total
        for status in (TaskJobStatus.RUNNING, TaskJobStatus.QUEUED)
    }
    told = [f"{count} {status}" for status, count in counts.items() if count]
    return [f"Task jobs: {', '.join(told)}"] if told else []


def jobs_command(jobs: TaskJobs) -> Callable[[InboundMessage], Awaitable[str]]:
    """Return the answer to `/jobs`: only titles and states, because any allowed chat may ask."""

    async def answer(_: InboundMessage) -> str:
        page = await jobs.store.search(TaskJobFilter(limit=SHOWN_IN_CHATS))
        lines = [f"{job.id.rpartition('-')[2][:8]} {job.title}: {job.status}" for job in page.items]
        more = [f"… and {page.total - len(lines):,} more"] if page.total > len(lines) else []
        return "\n".join([*lines, *more]) or "There are no task jobs."

    return answer


def watch_of(jobs: TaskJobs) -> ServiceLoop:
    """Return the service that finishes the jobs of ended processes, and inspects the branches of active ones."""
    told: set[str] = set()

    async def step() -> float:
        nonlocal told
        problems = set(await jobs.recovery.recover())
        for problem in sorted(problems - told):
            log.warning("a task job cannot be completed", extra={"reason": problem})
        told = problems
        lively = await jobs.store.lively(jobs.context.clock.now() - LIVELY_S)
        if lively:
            await jobs.branches.refreshed(lively)
        return LOOK_S

    return ServiceLoop("the watch of task jobs", step, jobs.context.clock)


async def live_jobs(jobs: TaskJobs, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the records of the jobs that exist, by ID."""
    return {job.id: to_json(job) for job in await jobs.store.several(ids)}


async def live_branches(jobs: TaskJobs, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return by the ID of their job the records of branches, as far as git can read them."""
    found = {}
    for job in await jobs.store.several(ids):
        try:
            found[job.id] = to_json(await jobs.branches.of_job(job))
        except TocsinError as error:  # it is gone, or its repository is away
            log.info("a branch cannot be shown", extra={"job": job.id, "reason": error.sentence()})
    return found


HOOKS = FeatureHooks[TaskJobs](
    open=open_jobs,
    status=status_of,
    services=(watch_of,),
    bot_commands={"jobs": jobs_command},
    live={"jobs": live_jobs, "branches": live_branches},
    run_types={"job": lambda jobs: JobRuns(jobs.context)},
    starts={"job": start_job},
    subjects={"job": startable_jobs},
)
