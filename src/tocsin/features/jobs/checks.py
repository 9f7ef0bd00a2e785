"""The checks of task jobs in `tocsin doctor`."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tocsin.core.process.git import OLDEST, GitFailedError
from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.jobs.model import TaskJob
from tocsin.features.jobs.service import TaskJobs
from tocsin.features.jobs.settings import JOB_REPOSITORIES
from tocsin.terminal.findings import Finding, failure


async def check_jobs(jobs: TaskJobs) -> AsyncIterator[Finding]:
    """Check git, the folders of repositories, and whether every branch and work tree has its job."""
    known = await jobs.store.with_branch() if jobs.context.database.path.exists() else []
    if not jobs.places.folders and not known:
        return
    try:
        version = await jobs.places.program.version()
    except GitFailedError as error:
        yield failure("jobs", error)
        return
    if version < OLDEST:
        found, oldest = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        yield Finding("error", "jobs", f"git {found} is too old", f"install git {oldest} or newer")
        return
    for folder in await asyncio.to_thread(_missing, jobs.places.folders):
        detail = f"{JOB_REPOSITORIES.name} contains {folder}, which is not a directory"
        yield Finding("warning", "jobs", detail, "create it, or correct the setting")
    for problem in await jobs.recovery.recover():
        yield Finding("warning", "jobs", problem, "fix the problem; the operation is retried")
    for job in await jobs.branches.refreshed(known):
        if job.head_sha is None:
            yield _gone(job)
    known_ids = await jobs.store.ids()
    for folder in await asyncio.to_thread(_folders, jobs.places.worktrees):
        if folder.name not in known_ids:
            fix = "check whether it is still needed, then remove it with `git worktree remove`"
            yield Finding("warning", "jobs", f"{folder} does not belong to a task job", fix)
    yield Finding("ok", "jobs", f"{number_of(len(known), 'task job')} with a branch")


def _gone(job: TaskJob) -> Finding:
    detail = f"branch {job.branch} of task job {job.id} no longer exists in {job.repo}"
    return Finding("warning", "jobs", detail, f"delete the job: tocsin jobs delete {job.id}")


def _missing(folders: Sequence[Path]) -> list[Path]:
    return [folder for folder in folders if not folder.is_dir()]


def _folders(worktrees: Path) -> list[Path]:
    return sorted(path for path in worktrees.iterdir() if path.is_dir()) if worktrees.is_dir() else []


CHECKS: Checks[TaskJobs] = (FeatureCheck(check_jobs),)
