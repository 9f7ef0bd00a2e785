"""Finish the unfinished work of processes that ended.

A branch is not in the database, so the record comes first when one is made, and goes last when one is removed. Both can
be done again: a branch is only made where there is none, or where its own log says that it was made for this job.
"""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.process.git import GitFailedError
from tocsin.core.process.identity import is_dead
from tocsin.features.context import FeatureContext
from tocsin.features.jobs.execution import ended_by
from tocsin.features.jobs.git.places import RepositoryNotAllowedError, RepositoryPlaces
from tocsin.features.jobs.git.repository import GitRepository, remove_folders_of
from tocsin.features.jobs.model import JobEvent, TaskJob, TaskPhase
from tocsin.features.jobs.store import TaskJobStore
from tocsin.runs.model import ACTIVE

log = logging.getLogger(__name__)

# Of a process on another host, or in a container that is gone, nothing can be proved: no step takes that long.
STALE_S = 3600.0


class JobRecovery:
    """The recovery of task jobs of dead processes by one process."""

    def __init__(self, context: FeatureContext, store: TaskJobStore, places: RepositoryPlaces) -> None:
        self._context = context
        self._store = store
        self._places = places

    async def recover(self) -> list[str]:
        """Finish unfinished work; return a sentence for each part that could not be finished."""
        await self._recover_runs()
        problems = []
        for job in await self._store.unfinished():
            if self._is_left(job):
                try:
                    await self._finish(job)
                except StoreUnavailableError:
                    raise
                except TocsinError as error:
                    problems.append(f"task job {job.id} is still {job.phase}: {error.sentence()}")
        return problems

    async def _recover_runs(self) -> None:
        if not (running := {job.run_id or "" for job in await self._store.running()}):
            return
        runs = self._context.runs()
        for owner in {found.owner for found in await runs.store.records.active(ACTIVE) if found.run.id in running}:
            if is_dead(owner):
                await runs.interrupt_runs_of(owner)
        for run in await runs.store.several(list(running)):
            if run.finished_at is not None:
                await runs.settle(run)
                # Another host may have settled it, which has not the record of the job.
                await self._store.complete(run, self._context.clock.now(), ended_by)

    def _is_left(self, job: TaskJob) -> bool:
        return is_dead(job.phase_owner) or self._context.clock.now() - job.phase_at > STALE_S

    async def _finish(self, job: TaskJob) -> None:
        log.info("completing a task job of a process that ended", extra={"job": job.id, "phase": str(job.phase)})
        if job.phase is TaskPhase.MAKING:
            await self.make(job)
        else:
            await self.remove(job)

    async def make(self, job: TaskJob, repository: GitRepository | None = None) -> TaskJob | None:
        """Create the branch of a job, or delete its record if the name is taken; return the job, or `None`."""
        repository = repository or await self.repository_of(job)
        if repository is None or not await repository.create_branch(job.branch or "", job.base_sha or "", job.id):
            await self._store.remove(job.id, told=False)
            return None
        return await self._store.change(
            job.id, lambda job: replace(job, phase=TaskPhase.READY), self._context.clock.now(), JobEvent.CREATED
        )

    async def remove(self, job: TaskJob, *, force: bool = False) -> None:
        """Remove the work tree of a job, its branch if requested, and then its record.

        With `force`, also where git cannot use the repository any more: then its branch stays.
        """
        repository = await self.repository_of(job, force=force)
        if repository is None:
            places = self._places
            await asyncio.to_thread(remove_folders_of, job.id, places.worktrees, places.program.directories)
        else:
            await asyncio.to_thread(repository.remove_worktree, job.id)
            if job.delete_branch and job.branch and job.head_sha:
                await repository.delete_branch(job.branch, job.head_sha)
        await self._store.remove(job.id)

    async def repository_of(self, job: TaskJob, *, force: bool = False) -> GitRepository | None:
        """Return the repository of a job; `None` if it has none, or if it is gone.

        Raises RepositoryNotAllowedError and GitFailedError for one that is there and cannot be used, unless `force`.
        """
        if not job.repo:
            return None
        try:
            return await self._places.open(job.repo)
        except (RepositoryNotAllowedError, GitFailedError):
            if force or not await asyncio.to_thread(Path(job.repo).exists):
                return None
            raise
