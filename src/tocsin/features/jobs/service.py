"""Create, start, complete and delete task jobs, and inspect their branches."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tocsin.core.audit.actions import AuditAction
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.reading.value import near_word, shorten
from tocsin.core.tasks import to_the_end
from tocsin.features.context import FeatureContext
from tocsin.features.jobs.branches import JobBranches
from tocsin.features.jobs.execution import (
    JobDependencies,
    TaskExecution,
    final_progress,
    place_of,
)
from tocsin.features.jobs.feature import JOB_COMPLETE, JOB_CREATE, JOB_DELETE, JOB_START
from tocsin.features.jobs.git.places import RepositoryPlaces
from tocsin.features.jobs.git.repository import GitRepository
from tocsin.features.jobs.model import (
    MAX_SUMMARY,
    InvalidTaskJobError,
    NewTaskJob,
    TaskConflictError,
    TaskJob,
    TaskJobStatus,
    TaskPhase,
    TaskResult,
    branch_name,
)
from tocsin.features.jobs.recovery import JobRecovery
from tocsin.features.jobs.store import TaskJobFilter, TaskJobStore
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import TERMINAL, Line, Run, RunSpec, RunTrigger
from tocsin.runs.stored_run import RunEndedError, UnknownRunError

log = logging.getLogger(__name__)


class StartedJob(NamedTuple):
    """A running job; `run` is `None` if a person does the work."""

    job: TaskJob
    run: ActiveRun | None


class TaskJobs:
    """The task jobs of the data directory."""

    def __init__(self, context: FeatureContext, store: TaskJobStore, places: RepositoryPlaces) -> None:
        self.context = context
        self.store = store
        self.places = places
        self.recovery = JobRecovery(context, store, places)
        self.branches = JobBranches(store, places, self.recovery, context.clock)
        self._parts = JobDependencies(context, places.program, places.worktrees, self._keep_place, self._keep_progress)

    async def search(self, query: TaskJobFilter) -> ListPage[TaskJob]:
        """Return the newest matching jobs."""
        await self.recovery.recover()
        page = await self.store.search(query)
        return replace(page, items=await self.branches.refreshed(page.items))

    async def get(self, id: str) -> TaskJob:
        """Return one job; here and below, `id` may be a short ID. Raises UnknownTaskJobError, AmbiguousIdError."""
        await self.recovery.recover()
        job = await self.store.get(id)
        return (await self.branches.refreshed([job]))[0]

    async def create(self, new: NewTaskJob, caller: Caller) -> TaskJob:
        """Create a job and its branch.

        Raises InvalidTaskJobError, RepositoryNotAllowedError, TaskConflictError for a branch that is taken, and
        GitFailedError.
        """
        new.check()
        await self._check_skill(new)
        now = self.context.clock.now()
        job = TaskJob(
            id=new_id(),
            title=new.title.strip(),
            description=new.description,
            priority=new.priority,
            labels=tuple(dict.fromkeys(new.labels)),
            command=new.command if new.command.strip() else "",
            skill=new.skill,
            created_at=now,
            updated_at=now,
            created_by=caller.actor or caller.source,
        )
        if new.repo:
            job = await to_the_end(self._add_with_branch(job, new))
        else:
            await self.store.add(job)
        self._record(JOB_CREATE, job, caller, "created", {"repo": job.repo, "branch": job.branch})
        return await self.get(job.id)

    async def start(
        self,
        id: str,
        caller: Caller,
        *,
        cause: str = RunTrigger.MANUAL,
        parent_run_id: str | None = None,
        run_id: str = "",
        watch: Callable[[Line], None] | None = None,
    ) -> StartedJob:
        """Start a queued job: its command or skill as a run, whose end completes it.

        A job without either is checked out and waits for `complete`. `watch` gets each line that is printed. Raises
        TaskTransitionError, TaskConflictError for a branch that is gone or checked out elsewhere, GitFailedError.
        """
        job = await self.get(id)
        job.check_transition(TaskJobStatus.RUNNING)
        repository = await self._repository(job)
        if repository is not None and job.branch:
            await repository.check_free(job.branch, job.id)
        if not job.has_work:
            return StartedJob(await self._start_by_hand(job, repository, caller), None)
        spec = replace(self._spec(job, caller, cause, parent_run_id), id=run_id)
        execution = TaskExecution(job, repository, self._parts)

        def hear(line: Line) -> None:
            execution.hear(line)
            if watch:
                watch(line)

        # Cut in half, it would leave the record of a run that is not executed.
        return await to_the_end(self._start_run(job, spec, execution, hear, caller))

    async def complete(
        self,
        id: str,
        outcome: TaskJobStatus,
        caller: Caller,
        *,
        summary: str = "",
        exit_code: int | None = None,
    ) -> TaskJob:
        """End a job by hand, and its run if it is active. Raises TaskTransitionError."""
        if len(summary) > MAX_SUMMARY:
            raise InvalidTaskJobError(f"the summary has more than {MAX_SUMMARY:,} characters", hint="shorten it")
        job, now = await self.get(id), self.context.clock.now()

        def end(job: TaskJob) -> TaskJob:
            job.check_transition(outcome)
            result = TaskResult(outcome, summary or None, exit_code)
            return replace(job, status=outcome, result=result, completed_at=now, progress=final_progress(job, outcome))

        ended = await self.store.change(job.id, end, now)
        self._record(JOB_COMPLETE, ended, caller, str(outcome), {"status": str(outcome)})
        if ended.run_id is not None:
            with suppress(RunEndedError):
                await self.context.runs().cancel(ended.run_id, f"its task job was set to {outcome}")
        return await self.get(job.id)

    async def delete(
        self,
        id: str,
        caller: Caller,
        *,
        delete_branch: bool = False,
        force: bool = False,
    ) -> None:
        """Delete a job with its work tree, and its branch if requested.

        Raises TaskConflictError for a running job; without `force` also where changes would be lost: uncommitted ones,
        or commits of a branch that is to be deleted and that its base has not.
        """
        job = await self.get(id)
        if job.status is TaskJobStatus.RUNNING or await self._is_at_work(job):
            raise TaskConflictError(
                f"task job {job.id} is running", hint="complete it first, then wait until it has ended"
            )
        job = await self.branches.removable(job, delete_branch=delete_branch, force=force)
        await to_the_end(self._remove(job, caller, delete_branch=delete_branch, force=force))

    async def _add_with_branch(self, job: TaskJob, new: NewTaskJob) -> TaskJob:
        repository = await self.places.open(new.repo)
        base = new.base_branch or await repository.default_branch()
        base_sha = await repository.base_commit(base)
        branch = new.branch or branch_name(job.id, job.title)
        await repository.check_name(branch)
        job = replace(job, repo=str(repository.path), base_branch=base, base_sha=base_sha, branch=branch)
        there = await repository.commit_of(branch) is not None
        if not new.create_branch:
            if not there:
                raise InvalidTaskJobError(
                    f"{repository.path} has no branch {branch!r}", hint="let Tocsin create it", body_key="branch"
                )
            await self.store.add(job)
            return job
        if there:
            raise _taken(branch, repository)
        owner, now = self.context.runs().owner, self.context.clock.now()
        job = replace(job, phase=TaskPhase.MAKING, phase_owner=owner, phase_at=now)
        await self.store.add(job)
        try:
            made = await self.recovery.make(job, repository)
        except TocsinError:
            # Git may have been ended in the middle: it makes the whole branch or none.
            if not await repository.was_made_for(branch, job.id):
                await self.store.remove(job.id, told=False)
                raise
            made = await self.recovery.make(job, repository)
        if made is None:
            raise _taken(branch, repository)
        return made

    async def _start_by_hand(self, job: TaskJob, repository: GitRepository | None, caller: Caller) -> TaskJob:
        place = await place_of(job, repository, self.places.worktrees)
        now = self.context.clock.now()

        def begin(job: TaskJob) -> TaskJob:
            job.check_transition(TaskJobStatus.RUNNING)
            return replace(job, status=TaskJobStatus.RUNNING, started_at=now, worktree_path=str(place))

        started = await self.store.change(job.id, begin, now)
        self._record(JOB_START, started, caller, "started", {})
        return started

    async def _start_run(
        self, job: TaskJob, spec: RunSpec, execution: TaskExecution, watch: Callable[[Line], None], caller: Caller
    ) -> StartedJob:
        started = job

        async def confirm(run: Run) -> None:
            nonlocal started

            def begin(job: TaskJob) -> TaskJob:
                job.check_transition(TaskJobStatus.RUNNING)
                status, now = TaskJobStatus.RUNNING, run.queued_at
                return replace(job, status=status, started_at=now, run_id=run.id, progress=None)

            started = await self.store.change(job.id, begin, run.queued_at)
            self._record(JOB_START, started, caller, "started", {"run": run.id})

        running = await self.context.runs().start(spec, execution.work, watch=watch, confirm=confirm)
        return StartedJob(started, running)

    async def _remove(self, job: TaskJob, caller: Caller, *, delete_branch: bool, force: bool) -> None:
        owner, now = self.context.runs().owner, self.context.clock.now()

        def begin(found: TaskJob) -> TaskJob:
            if found.status is TaskJobStatus.RUNNING:
                raise TaskConflictError(f"task job {job.id} was started just now", hint="wait until it has ended")
            return replace(
                found,
                phase=TaskPhase.REMOVING,
                phase_owner=owner,
                phase_at=now,
                delete_branch=delete_branch,
                head_sha=job.head_sha,
            )

        going = await self.store.change(job.id, begin, now)
        try:
            await self.recovery.remove(going, force=force)
        except TocsinError:
            await self.store.change(job.id, lambda job: replace(job, phase=TaskPhase.READY), now)
            raise
        facts = {"branch": job.branch, "branch_deleted": delete_branch and job.branch is not None}
        self._record(JOB_DELETE, job, caller, "deleted", facts)

    async def _repository(self, job: TaskJob) -> GitRepository | None:
        return await self.places.open(job.repo) if job.repo else None

    async def _is_at_work(self, job: TaskJob) -> bool:
        """Whether the run of a job that was ended by hand still goes on."""
        if job.run_id is None:
            return False
        with suppress(UnknownRunError):  # its record was pruned
            return (await self.context.runs().get(job.run_id)).status not in TERMINAL
        return False

    async def _check_skill(self, new: NewTaskJob) -> None:
        if not new.skill:
            return
        abilities = self.context.abilities
        programs = [skill.name for skill in await abilities.skills.list()]
        known = sorted({*await abilities.assistants.names(), *programs})
        if new.skill not in known:
            near = near_word(new.skill, known)
            hint = f"did you mean {near}?" if near else "`tocsin skills list` shows the skills"
            raise InvalidTaskJobError(f"unknown skill: {new.skill[:100]!r}", hint=hint, body_key="skill")
        if not new.repo and await abilities.skills.is_assistant(new.skill):
            raise InvalidTaskJobError(
                "an assistant skill needs a repository", hint="name one with `repo`, or --repo", body_key="repo"
            )

    def _spec(self, job: TaskJob, caller: Caller, cause: str, parent: str | None) -> RunSpec:
        params: dict[str, Any] = {"skill": job.skill} if job.skill else {"command": self.context.redact(job.command)}
        return RunSpec(
            "job",
            job.id,
            shorten(job.title),
            cause,
            caller.actor,
            {**params, **({"repo": job.repo, "branch": job.branch} if job.repo else {})},
            parent_run_id=parent,
        )

    async def _keep_place(self, job_id: str, place: Path) -> None:
        now = self.context.clock.now()
        await self.store.change(job_id, lambda job: replace(job, worktree_path=str(place)), now)

    def _keep_progress(self, job_id: str, progress: float) -> None:
        with suppress(StoreUnavailableError):  # the next one is kept, or the end of the job
            self.store.submit_progress(job_id, progress, self.context.clock.now())

    def _record(
        self, action: AuditAction, job: TaskJob, caller: Caller, done: str, facts: Mapping[str, object]
    ) -> None:
        told = {"job": job.id, **facts, **caller.facts}
        self.context.audit.record(action, f"{job.id} {done}", source=caller.source, metadata=told)


def _taken(branch: str, repository: GitRepository) -> TaskConflictError:
    return TaskConflictError(f"{repository.path} already has a branch {branch!r}", hint="choose another name")
