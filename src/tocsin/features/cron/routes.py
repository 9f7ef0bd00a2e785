"""The operations on cron jobs."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import WithJsonSchema

from tocsin.core.reading.fields import MappingType, PlainType
from tocsin.core.reading.json_schema import patch_schema, record_schema, without_names
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import Flat
from tocsin.features.cron.definitions.upcoming import ORDER, JobPreview
from tocsin.features.cron.model import JOB, RETRY, CronJob, JobChangedError, JobState, Param
from tocsin.features.cron.records import (
    CronJobRecord,
    CronJobSummary,
    UpcomingJobRun,
    due_record,
    job_record,
    job_records,
)
from tocsin.features.cron.service import CronJobs
from tocsin.rest.bodies import FLAG, MOMENT, RequestBody, text
from tocsin.rest.callers import CallerOf
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.headers import JSON, MERGE_PATCH
from tocsin.rest.models import GivenTime
from tocsin.rest.operations import OfferedTool, operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.rest.refusals import pointing_out
from tocsin.runs.log_file import LogPage
from tocsin.runs.model import Run, RunStatus, RunSummary


def _definition_schema() -> dict[str, Any]:
    schema = record_schema(without_names(JOB))
    schema["required"] = ["name", *schema["required"]]
    return schema


def _patch_of_a_definition() -> dict[str, Any]:
    schema = patch_schema(JOB, always=["name"])
    schema["properties"]["retry"] = {"anyOf": [patch_schema(RETRY), {"type": "null"}]}
    return schema


# Read by the feature's own rules, which are those of its files; they tell all mistakes at once.
JobBody = Annotated[dict[str, Any], WithJsonSchema(_definition_schema())]
JobPatch = Annotated[dict[str, Any], WithJsonSchema(_patch_of_a_definition())]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisableJob(RequestBody):
    """Options for disabling a job."""

    reason: Annotated[str, text(500), "Reason to show with the job."] = ""
    until: Annotated[GivenTime | None, MOMENT, "Time at which the schedule is enabled again."] = None
    cancel_running: Annotated[bool, FLAG, "Cancel running and waiting runs."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob(RequestBody):
    """Options for running a job now."""

    params: Annotated[dict[str, Param], Written(MappingType(PlainType())), "Parameters of this run."] = field(
        default_factory=dict
    )
    dry_run: Annotated[bool, FLAG, "Only report what would run."] = False
    force: Annotated[bool, FLAG, "Run even if `overlap` does not allow it."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """Output of one run of a job."""

    run_id: str
    page: Flat[LogPage]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLogs(Page[RunSummary]):
    """Runs of a job, and the output of one of them."""

    log: Annotated[JobLog | None, "Log of the requested run, or of the newest one that started."]


JobId = Annotated[str, Path(alias="id", description="ID or name of the job.")]
JobSort = Literal["name", "next_run_at", "updated_at", "created_at"]
StreamWord = Literal["all", "stdout", "stderr"]


_LAST = 99_999_999_999.0  # after every time
_PREVIEW: dict[int | str, dict[str, Any]] = {
    200: {"model": JobPreview, "description": "With `dry_run=true`: the effect; no job is stored."}
}
_PLANNED: dict[int | str, dict[str, Any]] = {
    **RUN_STARTED,
    200: {
        "model": Run,
        "description": "The run, which ended within `Prefer: wait=N`. With `dry_run`: what would run.",
    },
}


class CronRoutes:
    """The operations on cron jobs."""

    def __init__(self, jobs: CronJobs) -> None:
        self._jobs = jobs

    @operation(
        "GET",
        "/api/cron/jobs",
        problems=("validation-failed",),
        answer=Page[CronJobSummary],
        tool=OfferedTool("list_cron_jobs", read_only=True, idempotent=True),
    )
    async def list_cron_jobs(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the name, description or command.")] = "",
        state: Annotated[JobState | None, Query(description="State of the jobs.")] = None,
        tag: Annotated[str, Query(max_length=50, description="Tag of the jobs.")] = "",
        sort: Annotated[JobSort, Query(description="Order: next run first, newest first, or by name.")] = "name",
    ) -> Any:
        """List jobs."""
        found = await self._jobs.search(q, state, tag)
        page, following = paging.cut(sorted(found, key=_KEYS[sort]), _KEYS[sort])
        return paging.page(await job_records(self._jobs, page), following, len(found))

    @operation(
        "POST",
        "/api/cron/jobs",
        scope="admin",
        once=True,
        problems=("validation-failed", "name-taken"),
        status=201,
        answer=CronJobRecord,
        responses=_PREVIEW,
    )
    async def create_cron_job(
        self,
        body: JobBody,
        response: Response,
        caller: CallerOf,
        dry_run: Annotated[bool, Query(description="Only report the effect.")] = False,
    ) -> Any:
        """Create a job; with `dry_run`, only return its next runs and possible problems."""
        with pointing_out(body):
            if dry_run:
                return JSONResponse(to_json(await self._jobs.check(body)))
            job = await self._jobs.add(body, caller)
        response.headers["Location"] = f"/api/cron/jobs/{job.id}"
        return await self._answer(response, job)

    @operation(
        "GET",
        "/api/cron/upcoming",
        extension=True,
        problems=("validation-failed",),
        answer=Page[UpcomingJobRun],
    )
    async def list_upcoming_cron_runs(
        self, paging: PagingOf, hours: Annotated[int, Query(ge=1, le=9999, description="Number of hours.")] = 24
    ) -> Any:
        """List scheduled runs, the next one first."""
        found = await self._jobs.upcoming(hours, paging.limit + 1, paging.start_like(ORDER))
        following = found[paging.limit - 1].order if len(found) > paging.limit else None
        return paging.page(map(due_record, found[: paging.limit]), following)

    @operation("GET", "/api/cron/jobs/{id}", problems=("not-found",), answer=CronJobRecord)
    async def get_cron_job(self, job_id: JobId, response: Response) -> Any:
        """Get a job by ID or name."""
        return await self._answer(response, await self._jobs.get(job_id))

    @operation(
        "PATCH",
        "/api/cron/jobs/{id}",
        scope="admin",
        problems=("not-found", "conflict", "name-taken", "precondition-failed", "validation-failed"),
        answer=CronJobRecord,
        media=(JSON, MERGE_PATCH),
    )
    async def change_cron_job(
        self, request: Request, job_id: JobId, body: JobPatch, response: Response, caller: CallerOf
    ) -> Any:
        """Change fields of a job with a JSON Merge Patch, where null selects the default; `If-Match` is supported."""
        while True:
            job = await self._jobs.get(job_id)
            check_unchanged(request, _version(job))
            try:
                with pointing_out(body):
                    job = await self._jobs.patch(job, body, caller)
                return await self._answer(response, job)
            except JobChangedError:
                if "if-match" in request.headers:
                    raise
                # The caller did not say what it had read, so the patch is for what there is by now.

    @operation(
        "DELETE",
        "/api/cron/jobs/{id}",
        scope="admin",
        problems=("not-found", "conflict", "run-already-active", "precondition-failed", "validation-failed"),
    )
    async def delete_cron_job(
        self,
        request: Request,
        job_id: JobId,
        caller: CallerOf,
        keep_history: Annotated[bool, Query(description="Keep the runs of the job.")] = True,
        force: Annotated[bool, Query(description="If the job is running, cancel it and then remove it.")] = False,
    ) -> None:
        """Delete a job; `If-Match` is supported."""
        job = await self._jobs.get(job_id)
        check_unchanged(request, _version(job))
        await self._jobs.remove(job.id, caller, force=force, keep_history=keep_history, version=job.version)

    @operation(
        "POST",
        "/api/cron/jobs/{id}/enable",
        scope="run",
        problems=("not-found", "conflict"),
        answer=CronJobRecord,
    )
    async def enable_cron_job(self, job_id: JobId, response: Response, caller: CallerOf) -> Any:
        """Enable the schedule of a job; this resets its failure count."""
        return await self._answer(response, await self._jobs.enable(job_id, caller))

    @operation(
        "POST",
        "/api/cron/jobs/{id}/disable",
        scope="run",
        problems=("not-found", "validation-failed"),
        answer=CronJobRecord,
    )
    async def disable_cron_job(
        self, job_id: JobId, response: Response, caller: CallerOf, body: DisableJob | None = None
    ) -> Any:
        """Disable the schedule of a job, permanently or until a time."""
        wish = body or DisableJob()
        with pointing_out({}):
            job = await self._jobs.disable(job_id, caller, wish.reason, wish.until, cancel_running=wish.cancel_running)
        return await self._answer(response, job)

    @operation(
        "POST",
        "/api/cron/jobs/{id}/run",
        scope="run",
        once=True,
        problems=("not-found", "conflict", "run-already-active", "validation-failed"),
        status=202,
        answer=Run,
        responses=_PLANNED,
        tool=OfferedTool("run_cron_job", destructive=True, open_world=True, optional=True),
    )
    async def run_cron_job(self, request: Request, job_id: JobId, caller: CallerOf, body: RunJob | None = None) -> Any:
        """Run a job now, even if it is disabled; its schedule does not change.

        If the job is already running, `overlap` applies: the run is rejected, runs in parallel, waits as `queued`, or
        replaces the active run.
        """
        wish = body or RunJob()
        with pointing_out({}):
            if wish.dry_run:
                return JSONResponse(to_json(await self._jobs.plan(job_id, caller, wish.params, force=wish.force)))
            if wish.force:
                return await answer_run(request, await self._jobs.begin(job_id, caller, wish.params, force=True))
            return await answer_run(request, await self._jobs.begin_or_queue(job_id, caller, wish.params))

    @operation("GET", "/api/cron/jobs/{id}/logs", problems=("not-found", "validation-failed"), answer=JobLogs)
    async def list_cron_job_logs(
        self,
        paging: PagingOf,
        job_id: JobId,
        run_id: Annotated[
            str, Query(max_length=100, description="ID of a run whose log to return instead of the newest.")
        ] = "",
        status: Annotated[list[RunStatus] | None, Query(description="State of the runs; may be repeated.")] = None,
        tail: Annotated[int, Query(ge=1, le=1000, description="Number of last lines.")] = 200,
        stream: Annotated[StreamWord, Query(description="Output stream.")] = "all",
        ansi: Annotated[bool, Query(description="Keep terminal escape sequences.")] = False,
    ) -> Any:
        """List the runs of a job, the newest first, with the end of the log of one of them."""
        job = await self._jobs.get(job_id)
        found = await self._jobs.runs_of(job, status or (), paging.limit, paging.start)
        newest = found if not paging.start else await self._jobs.runs_of(job, status or (), paging.limit)
        chosen = await self._jobs.run_of(job, run_id) if run_id else None
        chosen = chosen or next((run for run in newest.items if run.started_at is not None), None)
        log = None
        if chosen:
            wanted = "" if stream == "all" else stream
            page = await self._jobs.runs().log(chosen.id, stream=wanted, tail=tail, ansi=ansi)
            log = JobLog(run_id=chosen.id, page=page)
        shown = paging.page(found.items, found.next_cursor)
        return JobLogs(items=shown.items, next_cursor=shown.next_cursor, total=shown.total, log=log)

    async def _answer(self, response: Response, job: CronJob) -> Any:
        return tag(response, await job_record(self._jobs, job), _version(job))


_KEYS = {
    "name": lambda job: job.name,
    "next_run_at": lambda job: f"{_LAST if job.next_at is None else job.next_at:017.3f} {job.id}",
    "updated_at": lambda job: f"{_LAST - job.updated_at:017.3f} {job.id}",
    "created_at": lambda job: f"{_LAST - job.created_at:017.3f} {job.id}",
}


def _version(job: CronJob) -> object:
    return job.id, job.version


OPERATIONS = operations_of("cron", CronRoutes)
