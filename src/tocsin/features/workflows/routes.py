"""The operations on workflows."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from fastapi import Path, Query, Request, Response
from fastapi.responses import JSONResponse

from tocsin.core.reading.fields import AnyType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.core.text.strings import number_of
from tocsin.features.workflows.language.reading import MAX_FILE_BYTES
from tocsin.features.workflows.language.schema import WORKFLOW_NAME
from tocsin.features.workflows.records import (
    ValidationRecord,
    WorkflowRecord,
    WorkflowSummary,
    describe,
    summarize,
    validate,
)
from tocsin.features.workflows.requests import InvalidRunError, PlannedRun, WorkflowRequest
from tocsin.features.workflows.service import Workflows
from tocsin.features.workflows.store import InvalidWorkflowError, UnknownWorkflowError, WorkflowFile
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.callers import CallerOf, find_trigger, while_connected
from tocsin.rest.conditional import check_unchanged, tag, wants_new
from tocsin.rest.headers import JSON
from tocsin.rest.operations import OfferedTool, operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import MAX_ERRORS, as_detail, field_error
from tocsin.runs.model import Run

YAML = "application/yaml"  # RFC 9512
# Both forms of a text: `{"yaml": "…"}`, and the text itself.
TEXT_SCHEMA: dict[str, Any] = {"requestBody": {"content": {YAML: {"schema": {}}}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowText(RequestBody):
    """Text of a workflow."""

    text_field: ClassVar[str] = "yaml"
    yaml: Annotated[str, Written(TextType())]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowCheck(RequestBody):
    """Text to validate; by default, the stored file."""

    text_field: ClassVar[str] = "yaml"
    yaml: Annotated[str | None, Written(TextType(blank=True), nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow(RequestBody):
    """Options for running a workflow."""

    params: Annotated[dict[str, Any], Written(MappingType(AnyType())), "Its parameters."] = field(default_factory=dict)
    dry_run: Annotated[bool, FLAG, "Only report the plan."] = False
    from_step: Annotated[
        str, text(200), "Start from this step. Approvals before it are requested again, unless the caller may approve."
    ] = ""
    only: Annotated[
        list[str],
        Written(ListType(TextType(), max_items=1000)),
        "Run only these steps, after the approvals before them.",
    ] = field(default_factory=list)
    env: Annotated[dict[str, str], Written(MappingType(TextType(blank=True))), "Environment variables of this run."] = (
        field(default_factory=dict)
    )


WorkflowNameOf = Annotated[str, Path(alias="name", pattern=f"^(?:{WORKFLOW_NAME})$", description="Its name.")]


_STARTED: dict[int | str, dict[str, Any]] = {
    **RUN_STARTED,
    200: {
        "model": Run | PlannedRun,
        "description": "The run, which ended within `Prefer: wait=N`. With `dry_run`: the plan.",
    },
}


class WorkflowRoutes:
    """The operations on workflows."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    @operation(
        "GET",
        "/api/workflows",
        problems=("validation-failed",),
        answer=Page[WorkflowSummary],
        tool=OfferedTool("list_workflows", read_only=True, idempotent=True),
    )
    async def list_workflows(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the name or description.")] = "",
        valid: Annotated[bool | None, Query(description="Only workflows with errors, or only without.")] = None,
    ) -> Any:
        """List workflows by name, including invalid ones."""
        found = [each for each in await self._workflows.all() if each.says(q) and valid in {None, each.valid}]
        page, following = paging.cut(sorted(found, key=_name), _name)
        schedules = await self._workflows.schedules()
        records = [
            summarize(each, await self._workflows.recent(each.name), schedules.get(each.name, ())) for each in page
        ]
        return paging.page(records, following, len(found))

    @operation("GET", "/api/workflows/{name}", problems=("not-found",), answer=WorkflowRecord)
    async def get_workflow(self, name: str, response: Response) -> Any:
        """Get a workflow with the text of its file, its errors and its graph."""
        return await self._answer(response, await self._workflows.look(name))

    @operation(
        "PUT",
        "/api/workflows/{name}",
        scope="admin",
        extension=True,
        problems=("workflow-invalid", "validation-failed", "precondition-failed"),
        answer=WorkflowRecord,
        responses={201: {"model": WorkflowRecord, "description": "The workflow was created."}},
        media=(JSON, YAML),
        openapi_extra=TEXT_SCHEMA,
    )
    async def save_workflow(
        self, request: Request, name: WorkflowNameOf, body: WorkflowText, response: Response, caller: CallerOf
    ) -> Any:
        """Create or replace a workflow; invalid definitions are rejected.

        `If-Match` is supported. Send `If-None-Match: *` to create only.
        """
        digest = await self._digest_to_replace(request, name)
        with _pointing_out(name):
            content = _content_of(body.yaml)
            file, created = await self._workflows.save(name, content, source=caller.source, digest=digest)
        if created:
            response.status_code = 201
            response.headers["Location"] = f"/api/workflows/{name}"
        return await self._answer(response, file)

    async def _digest_to_replace(self, request: Request, name: str) -> str | None:
        """Return the digest of the content to replace: empty to create only, `None` if not specified. Raises 412."""
        if wants_new(request):
            return ""
        if not request.headers.getlist("if-match"):
            return None
        try:
            file = await self._workflows.look(name)
        except UnknownWorkflowError:
            raise HttpProblemError("precondition-failed", f"There is no workflow {name} to replace.") from None
        check_unchanged(request, file.digest)
        return file.digest

    @operation(
        "POST",
        "/api/workflows/{name}/validate",
        problems=("not-found", "validation-failed"),
        scope="read",
        answer=ValidationRecord,
        media=(JSON, YAML),
        openapi_extra=TEXT_SCHEMA,
    )
    async def validate_workflow(self, request: Request, name: WorkflowNameOf, body: WorkflowCheck | None = None) -> Any:
        """Validate the stored file, or a text; the response is always 200."""
        if body is None or body.yaml is None:
            return validate(await self._workflows.look(name))
        text = self._workflows.read_text(name, _content_of(body.yaml))
        return validate(await while_connected(request, text))

    @operation(
        "POST",
        "/api/workflows/{name}/run",
        scope="run",
        once=True,
        problems=("not-found", "run-already-active", "workflow-invalid", "validation-failed"),
        status=202,
        answer=Run,
        responses=_STARTED,
        tool=OfferedTool("run_workflow", destructive=True, open_world=True, optional=True),
    )
    async def run_workflow(self, request: Request, name: str, caller: CallerOf, body: RunWorkflow | None = None) -> Any:
        """Run a workflow, or return its plan."""
        wish = body or RunWorkflow()
        wanted = WorkflowRequest(
            find_trigger(request),
            caller.source,
            caller.actor,
            params=wish.params,
            env=wish.env,
            only=tuple(wish.only),
            from_step=wish.from_step,
        )
        with _pointing_out(name):
            if wish.dry_run:
                return JSONResponse(to_json(await self._workflows.plan(name, wanted)))
            return await answer_run(request, await self._workflows.begin(name, wanted))

    async def _answer(self, response: Response, file: WorkflowFile) -> Any:
        schedules = (await self._workflows.schedules()).get(file.name, ())
        recent = await self._workflows.recent(file.name)
        return tag(response, await asyncio.to_thread(describe, file, recent, schedules), file.digest)


def _content_of(text: str) -> bytes:
    """Return the text of a workflow as bytes; raises 413."""
    content = text.encode()
    if len(content) > MAX_FILE_BYTES:
        detail = f"A workflow can have at most 128 KiB ({MAX_FILE_BYTES:,} bytes), this text has {len(content):,}."
        raise HttpProblemError("payload-too-large", detail)
    return content


@contextmanager
def _pointing_out(name: str) -> Iterator[None]:
    """Turn the mistakes of a file, or of the values for a run, into a problem that lists them."""
    try:
        yield
    except InvalidWorkflowError as error:
        count = number_of(len(error.problems), "problem")
        errors = [
            {key: value for key, value in to_json(problem).items() if value is not None} for problem in error.problems
        ]
        raise HttpProblemError("workflow-invalid", f"{count} in {name}.yaml", errors) from None
    except InvalidRunError as error:
        if not error.problems:
            raise
        listed = error.problems[:MAX_ERRORS]
        errors = [field_error(each.at, each.code, as_detail(each.detail), each.suggestion) for each in listed]
        raise HttpProblemError("validation-failed", as_detail(error.sentence()), errors) from None


def _name(file: WorkflowFile) -> str:
    return file.name


OPERATIONS = operations_of("workflows", WorkflowRoutes)
