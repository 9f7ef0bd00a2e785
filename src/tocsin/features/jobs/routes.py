"""The operations on task jobs."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from fastapi import Query, Request, Response

from tocsin.core.process.git import GitFailedError
from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.jobs.branches import BranchDetails
from tocsin.features.jobs.model import (
    MAX_COMMAND,
    MAX_DESCRIPTION,
    MAX_LABELS,
    MAX_SUMMARY,
    MAX_TITLE,
    NewTaskJob,
    TaskBranch,
    TaskConflictError,
    TaskJob,
    TaskJobStatus,
    TaskPriority,
    TaskTransitionError,
)
from tocsin.features.jobs.service import TaskJobs
from tocsin.features.jobs.store import TaskJobFilter
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.callers import CallerOf, find_trigger
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.models import MAX_NAME
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import as_detail

StatusWord = Literal["queued", "running", "completed", "failed", "cancelled"]
OutcomeWord = Literal["completed", "failed", "cancelled"]
PriorityWord = Literal["low", "normal", "high"]

MAX_PATH, MAX_BRANCH = 4096, 255


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob(RequestBody):
    """Task job to create."""

    title: Annotated[str, Written(TextType(max_chars=MAX_TITLE), examples=("Fix the login",))]
    description: Annotated[str, text(MAX_DESCRIPTION)] = ""
    command: Annotated[str, text(MAX_COMMAND), "Command that is run with `sh` when the job starts."] = ""
    skill: Annotated[str, text(MAX_NAME), "Skill that is run when the job starts."] = ""
    repo: Annotated[str, text(MAX_PATH), "Repository: an absolute path, or a path below one of JOB_REPOSITORIES."] = ""
    base_branch: Annotated[
        str, text(MAX_BRANCH), "Branch or commit to start from (default: the current branch of the repository)."
    ] = ""
    branch: Annotated[str, text(MAX_BRANCH), "Name of the branch (default: `job/<short id>-<title>`)."] = ""
    create_branch: Annotated[bool, FLAG, "Whether to create the branch, or use an existing one."] = True
    priority: Annotated[PriorityWord, Written(ChoiceType(get_args(PriorityWord)))] = "normal"
    labels: Annotated[list[str], Written(ListType(TextType(), max_items=MAX_LABELS))] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome(RequestBody):
    """Result of a completed task job."""

    outcome: Annotated[OutcomeWord, Written(ChoiceType(get_args(OutcomeWord)))] = "completed"
    summary: Annotated[str, text(MAX_SUMMARY)] = ""
    exit_code: Annotated[int | None, Written(IntegerType(0, 255), nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList:
    """Branches, at most 200 per repository."""

    items: list[TaskBranch]


class JobRoutes:
    """The operations on task jobs."""

    def __init__(self, jobs: TaskJobs) -> None:
        self._jobs = jobs

    @operation("GET", "/api/jobs", problems=("validation-failed",), answer=Page[TaskJob])
    async def list_jobs(
        self,
        paging: PagingOf,
        status: Annotated[list[StatusWord] | None, Query(description="State of the jobs; may be repeated.")] = None,
        label: Annotated[str, Query(max_length=50, description="Label of the jobs.")] = "",
        q: Annotated[str, Query(max_length=200, description="Text in the title, description or branch.")] = "",
    ) -> Any:
        """List task jobs, newest first."""
        wanted = tuple(map(TaskJobStatus, status or ()))
        found = await self._jobs.search(TaskJobFilter(wanted, label, q, paging.limit, paging.start))
        return paging.page(found.items, found.next_cursor, found.total)

    @operation(
        "POST",
        "/api/jobs",
        scope="run",
        once=True,
        problems=("validation-failed", "not-found", "conflict"),
        status=201,
        answer=TaskJob,
    )
    async def create_job(self, body: NewJob, response: Response, caller: CallerOf) -> Any:
        """Create a task job, and its branch if it has a repository."""
        wish = NewTaskJob(**{**body.values(), "priority": TaskPriority(body.priority)})
        job = await self._jobs.create(wish, caller)
        response.headers["Location"] = f"/api/jobs/{job.id}"
        return _tagged(response, job)

    @operation("GET", "/api/jobs/branches", problems=("not-found", "conflict"), answer=BranchList)
    async def list_job_branches(
        self,
        repo: Annotated[
            str, Query(max_length=MAX_PATH, description="All branches of this repository, newest first.")
        ] = "",
    ) -> Any:
        """List the branches of all task jobs, or of one repository."""
        return BranchList(items=await self._jobs.branches.all(repo))

    @operation("GET", "/api/jobs/branches/{job_id}", problems=("not-found", "conflict"), answer=BranchDetails)
    async def get_job_branch(
        self, job_id: str, patch: Annotated[bool, Query(description="Include the patch.")] = False
    ) -> Any:
        """Get the branch of a task job, with its commits and files."""
        job = await self._jobs.get(job_id)
        try:
            return await self._jobs.branches.details(job, patch=patch)
        except TaskConflictError as error:  # it has no branch, or has it no more
            raise HttpProblemError("not-found", as_detail(error.sentence())) from None

    @operation("GET", "/api/jobs/{jid}", problems=("not-found",), answer=TaskJob)
    async def get_job(self, jid: str, response: Response) -> Any:
        """Get a task job."""
        return _tagged(response, await self._jobs.get(jid))

    @operation(
        "POST",
        "/api/jobs/{jid}/start",
        scope="run",
        once=True,
        problems=("not-found", "invalid-transition", "conflict"),
        answer=TaskJob,
    )
    async def start_job(self, request: Request, jid: str, response: Response, caller: CallerOf) -> Any:
        """Start a queued task job: run its command or skill, or create its work tree for manual work."""
        try:
            started = await self._jobs.start(jid, caller, cause=find_trigger(request))
        except TaskTransitionError as error:
            raise _not_allowed(error) from None
        return _tagged(response, started.job)

    @operation(
        "POST",
        "/api/jobs/{jid}/complete",
        scope="run",
        problems=("not-found", "invalid-transition", "validation-failed"),
        answer=TaskJob,
    )
    async def complete_job(self, jid: str, response: Response, caller: CallerOf, body: JobOutcome | None = None) -> Any:
        """Complete, fail or cancel a task job; an active run of it is cancelled."""
        wish = body or JobOutcome()
        outcome = TaskJobStatus(wish.outcome)
        try:
            job = await self._jobs.complete(jid, outcome, caller, summary=wish.summary, exit_code=wish.exit_code)
        except TaskTransitionError as error:
            raise _not_allowed(error) from None
        return _tagged(response, job)

    @operation(
        "DELETE",
        "/api/jobs/{jid}",
        scope="run",
        problems=("not-found", "conflict", "precondition-failed"),
    )
    async def delete_job(
        self,
        request: Request,
        jid: str,
        caller: CallerOf,
        delete_branch: Annotated[bool, Query(description="Delete its branch, too.")] = False,
        force: Annotated[bool, Query(description="Delete even if changes are lost.")] = False,
    ) -> None:
        """Delete a task job with its work tree; `If-Match` is supported."""
        job = await self._jobs.get(jid)
        check_unchanged(request, _version(job))
        await self._jobs.delete(job.id, caller, delete_branch=delete_branch, force=force)


def _tagged(response: Response, job: TaskJob) -> Any:
    return tag(response, job, _version(job))


def _version(job: TaskJob) -> object:
    return job.id, job.version


def _not_allowed(error: TaskTransitionError) -> HttpProblemError:
    return HttpProblemError("invalid-transition", as_detail(error.sentence()), facts={"allowed": list(error.allowed)})


OPERATIONS = operations_of("jobs", JobRoutes, {GitFailedError: "conflict"})
