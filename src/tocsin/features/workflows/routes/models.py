"""What operations on workflows take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from fastapi import Path

from tocsin.core.reading.fields import AnyType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Time
from tocsin.features.workflows.language.schema import WORKFLOW_NAME
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.runs.model import RunStatus, RunSummary

YAML = "application/yaml"  # RFC 9512
# Both forms of a text: `{"yaml": "…"}`, and the text itself.
TEXT_SCHEMA: dict[str, Any] = {"requestBody": {"content": {YAML: {"schema": {}}}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentWorkflowRun:
    """Run, as shown in a bar chart."""

    id: str
    status: RunStatus
    started_at: Time | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSummary:
    """Workflow, as returned in lists."""

    name: str
    description: str
    notify_profile: str | None
    steps_count: int
    valid: bool
    error_count: int
    file: str
    updated_at: Time
    schedules: Annotated[list[str], "IDs of the cron jobs that start it."]
    last_run: RunSummary | None
    recent: Annotated[list[RecentWorkflowRun], "Newest 30 runs."]


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeRecord:
    """Error in a file."""

    line: int
    column: int
    key: str
    pointer: str
    code: str
    detail: str
    suggestion: str | None
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """Step in the graph; steps of the same wave may run in parallel."""

    id: str
    type: str
    wave: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """Steps and their dependencies."""

    nodes: list[GraphNode]
    edges: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class ValidationRecord:
    """Errors of a workflow, or its graph if it has none."""

    valid: bool
    errors: list[MistakeRecord]
    warnings: list[MistakeRecord]
    graph: GraphRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord(WorkflowSummary, ValidationRecord):
    """Workflow with the content of its file."""

    yaml: str
    definition: Annotated[dict[str, Any] | None, "The workflow as plain values; null if it has errors."]
    params: Annotated[dict[str, Any], "Schema of each parameter."]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStepRecord:
    """Plan of a step."""

    step: str
    type: str
    wave: int
    group: str
    would_run: Annotated[bool | None, "Null if it depends on other steps."]
    when: str | None
    command: str
    variables: Annotated[dict[str, str], "Environment variables used by the script, as far as known."]
    for_each: Annotated[str | None, "Placeholder that supplies the values."]
    items: Annotated[list[Any] | None, "Values of `for_each`; null if they depend on other steps."]
    depends_on: list[str]
    host: str | None
    hosts: list[str]
    problems: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """Plan of a run."""

    dry_run: bool
    workflow: str
    plan: list[PlannedStepRecord]
    problems: Annotated[list[str], "Problems with the parameters."]
    warnings: list[str]


WorkflowNameOf = Annotated[str, Path(alias="name", pattern=f"^(?:{WORKFLOW_NAME})$", description="Its name.")]
