"""The state of the branches of task jobs, as git reports it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from tocsin.core.errors import TocsinError
from tocsin.core.process.git import GitFailedError
from tocsin.core.records.marks import Flat
from tocsin.core.text.strings import number_of
from tocsin.core.time.clock import Clock
from tocsin.features.jobs.git import comparison
from tocsin.features.jobs.git.places import RepositoryPlaces
from tocsin.features.jobs.git.repository import BranchTip, GitRepository
from tocsin.features.jobs.model import BranchCommit, BranchFile, JobEvent, TaskBranch, TaskConflictError, TaskJob
from tocsin.features.jobs.recovery import JobRecovery
from tocsin.features.jobs.store import TaskJobStore


@dataclass(frozen=True, slots=True)
class BranchDetails:
    """Branch with its commits and changed files."""

    schema_name: ClassVar[str] = "BranchWithChanges"

    branch: Flat[TaskBranch]
    commits: Annotated[Sequence[BranchCommit], "Newest 100 commits missing from the base."]
    files: Annotated[Sequence[BranchFile], "At most 1,000 files."]
    patch: Annotated[str | None, "With `patch=true`: up to 512 KiB of it, in whole lines; otherwise null."] = None
    truncated: Annotated[bool, "Whether `patch` is incomplete."] = False


class JobBranches:
    """The branches of task jobs, and those beside them."""

    def __init__(self, store: TaskJobStore, places: RepositoryPlaces, recovery: JobRecovery, clock: Clock) -> None:
        self._store = store
        self._places = places
        self._recovery = recovery
        self._clock = clock

    async def refreshed(self, jobs: Sequence[TaskJob]) -> list[TaskJob]:
        """Return jobs with the present state of their branches, or the last known one if git fails."""
        fresh = {job.id: job for job in jobs}
        for repo in {job.repo for job in jobs if job.repo and job.branch}:
            own = [job for job in jobs if job.repo == repo and job.branch]
            try:
                repository = await self._places.open(repo)
                fresh |= {job.id: job for job in await self._compared(repository, own)}
            except GitFailedError:
                continue
            except TocsinError as error:
                if error.code != "not-found":
                    raise
        return list(fresh.values())

    async def all(self, repo: str = "") -> list[TaskBranch]:
        """Return the branches of all jobs, or those of one repository with the newest commits, at most 200."""
        jobs = await self._store.with_branch()
        if repo:
            return await self._of_repository(await self._places.open(repo), jobs)
        found: list[TaskBranch] = []
        for path in sorted({job.repo for job in jobs if job.repo}):
            own = [job for job in jobs if job.repo == path]
            repository = await self._recovery.repository_of(own[0], force=True)
            if repository is not None:
                found += await self._of_jobs(repository, own)
        return found

    async def details(self, job: TaskJob, *, patch: bool = False) -> BranchDetails:
        """Return the branch of a job; raises TaskConflictError if it has none, or if it is gone."""
        repository, tip = await self._tip_of(job)
        base = await self._base_of(repository, job)
        made = await comparison.patch(repository, base, tip.sha) if patch else None
        return BranchDetails(
            await self._branch(repository, tip, job.base_branch or "", base, job),
            await comparison.commits(repository, base, tip.sha),
            await comparison.files(repository, base, tip.sha),
            made.text if made else None,
            made.truncated if made else False,
        )

    async def of_job(self, job: TaskJob) -> TaskBranch:
        """Return the branch of a job; raises TaskConflictError if it has none, or if it is gone."""
        repository, tip = await self._tip_of(job)
        return await self._branch(repository, tip, job.base_branch or "", await self._base_of(repository, job), job)

    async def _tip_of(self, job: TaskJob) -> tuple[GitRepository, BranchTip]:
        if not job.repo or not job.branch:
            raise TaskConflictError(
                f"task job {job.id} has no branch", hint="only task jobs with a repository have a branch"
            )
        repository = await self._places.open(job.repo)
        tip = await repository.tip(job.branch)
        if tip is None:
            raise TaskConflictError(f"{job.repo} no longer has a branch {job.branch!r}", hint="delete the task job")
        return repository, tip

    async def removable(self, job: TaskJob, *, delete_branch: bool, force: bool) -> TaskJob:
        """Return a job with the commit of its branch; raises TaskConflictError if work would be lost."""
        repository = await self._recovery.repository_of(job, force=force)
        if repository is None or not job.branch:
            return replace(job, head_sha=None)
        if not force:
            await self._refuse_dirty(repository, job)
        tip = await repository.tip(job.branch) if delete_branch else None
        if tip is None:
            return replace(job, head_sha=None)
        await repository.check_free(job.branch, job.id)
        distance = await comparison.distance(repository, await self._base_of(repository, job), tip.sha)
        if not distance.merged and not force:
            raise TaskConflictError(
                f"branch {job.branch} has {number_of(distance.ahead, 'commit')} missing from {job.base_branch}",
                hint="merge it, keep the branch, or delete it with force",
            )
        return replace(job, head_sha=tip.sha)

    async def _refuse_dirty(self, repository: GitRepository, job: TaskJob) -> None:
        try:
            dirty = await repository.is_dirty(job.id)
        except GitFailedError as error:
            hint = "check it, or delete the job with force"
            raise TaskConflictError(f"its work tree cannot be checked: {error}", hint=hint) from None
        if dirty:
            folder = repository.worktree_of(job.id)
            hint = "commit them, or delete the job with force"
            raise TaskConflictError(f"{folder} has uncommitted changes", hint=hint)

    async def _compared(self, repository: GitRepository, jobs: Sequence[TaskJob]) -> list[TaskJob]:
        names = {name for job in jobs for name in (job.branch, job.base_branch) if name}
        refs = [f"refs/heads/{name}" for name in names]
        tips = {tip.name: tip.sha for tip in await repository.branches(*refs, limit=len(refs))}
        found = []
        for job in jobs:
            head = tips.get(job.branch or "")
            base = tips.get(job.base_branch or "") or job.base_sha or ""
            if head == job.head_sha and (base == job.base_sha or head is None):
                found.append(job)
                continue
            distance = await comparison.distance(repository, base, head) if head else None

            def seen(
                job: TaskJob,
                head: str | None = head,
                base: str = base,
                distance: comparison.BranchDistance | None = distance,
            ) -> TaskJob:
                return replace(
                    job,
                    head_sha=head,
                    base_sha=base,
                    ahead=distance.ahead if distance else None,
                    behind=distance.behind if distance else None,
                    diffstat=distance.diffstat if distance else None,
                )

            found.append(await self._store.change(job.id, seen, self._clock.now(), JobEvent.BRANCH_UPDATED))
        return found

    async def _of_jobs(self, repository: GitRepository, jobs: Sequence[TaskJob]) -> list[TaskBranch]:
        tips = {tip.name: tip for tip in await repository.branches(*(f"refs/heads/{job.branch}" for job in jobs))}
        return [
            await self._branch(
                repository, tips[job.branch], job.base_branch or "", await self._base_of(repository, job), job
            )
            for job in jobs
            if job.branch in tips
        ]

    async def _of_repository(self, repository: GitRepository, jobs: Sequence[TaskJob]) -> list[TaskBranch]:
        by_branch = {job.branch: job for job in jobs if job.repo == str(repository.path)}
        tips = await repository.branches()
        if not tips:
            return []
        usual = await repository.default_branch()
        usual_sha = await repository.base_commit(usual)
        found = []
        for tip in tips:
            job = by_branch.get(tip.name)
            base, sha = (job.base_branch, await self._base_of(repository, job)) if job else (usual, usual_sha)
            found.append(await self._branch(repository, tip, base or "", sha, job))
        return found

    async def _branch(
        self, repository: GitRepository, tip: BranchTip, base: str, base_sha: str, job: TaskJob | None
    ) -> TaskBranch:
        distance = await comparison.distance(repository, base_sha, tip.sha)
        return TaskBranch(
            name=tip.name,
            repo=str(repository.path),
            base=base,
            head_sha=tip.sha,
            head_subject=tip.subject,
            head_at=tip.at,
            job_id=job.id if job else None,
            ahead=distance.ahead,
            behind=distance.behind,
            dirty=await self._dirty(repository, job) if job else None,
            merged=distance.merged,
            worktree_path=tip.checked_out or None,
            diffstat=distance.diffstat,
        )

    async def _dirty(self, repository: GitRepository, job: TaskJob) -> bool | None:
        try:
            return bool(await repository.is_dirty(job.id))
        except GitFailedError:
            return None

    async def _base_of(self, repository: GitRepository, job: TaskJob) -> str:
        """Return the commit of the base of a job, or the one at which its branch was created."""
        tip = await repository.commit_of(job.base_branch or "")
        return tip or job.base_sha or ""
