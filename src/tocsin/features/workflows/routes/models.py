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
    """One run, as a bar shows it."""

    id: str
    status: RunStatus
    started_at: Time | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSummary:
    """A workflow, as lists show it."""

    name: str
    description: str
    notify_profile: str | None
    steps_count: int
    valid: bool
    error_count: int
    file: str
    updated_at: Time
    schedules: Annotated[list[str], "The IDs of the cron jobs that start it."]
    last_run: RunSummary | None
    recent: Annotated[list[RecentWorkflowRun], "The newest 30."]


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeRecord:
    """A mistake in a file."""

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
    """A step in the graph; those of one wave may run at the same time."""

    id: str
    type: str
    wave: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """The steps, and which waits for which."""

    nodes: list[GraphNode]
    edges: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class ValidationRecord:
    """What is wrong with a workflow, and its graph where nothing is."""

    valid: bool
    errors: list[MistakeRecord]
    warnings: list[MistakeRecord]
    graph: GraphRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord(WorkflowSummary, ValidationRecord):
    """A workflow, with what is in its file."""

    yaml: str
    definition: Annotated[dict[str, Any] | None, "The same as plain values; null if it has mistakes."]
    params: Annotated[dict[str, Any], "The schema of each parameter."]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowText(RequestBody):
    """The text of a workflow."""

    text_field: ClassVar[str] = "yaml"
    yaml: Annotated[str, Written(TextType())]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowCheck(RequestBody):
    """The text to look at; without it, the stored file."""

    text_field: ClassVar[str] = "yaml"
    yaml: Annotated[str | None, Written(TextType(blank=True), nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow(RequestBody):
    """How to run a workflow."""

    params: Annotated[dict[str, Any], Written(MappingType(AnyType())), "Its parameters."] = field(default_factory=dict)
    dry_run: Annotated[bool, FLAG, "Only report what would be done."] = False
    from_step: Annotated[
        str, text(200), "Run this step, and those after it. A question before it is asked unless the caller may answer."
    ] = ""
    only: Annotated[
        list[str],
        Written(ListType(TextType(), max_items=1000)),
        "Run these steps alone, after the questions before them.",
    ] = field(default_factory=list)
    env: Annotated[dict[str, str], Written(MappingType(TextType(blank=True))), "Variables of this run."] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStepRecord:
    """What would become of a step."""

    step: str
    type: str
    wave: int
    group: str
    would_run: Annotated[bool | None, "Null if that depends on other steps."]
    when: str | None
    command: str
    variables: Annotated[dict[str, str], "Those that its script names, as far as they are known."]
    for_each: Annotated[str | None, "The placeholder that holds its values."]
    items: Annotated[list[Any] | None, "The values of `for_each`; null if they depend on other steps."]
    depends_on: list[str]
    host: str | None
    hosts: list[str]
    problems: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """What a run would do."""

    dry_run: bool
    workflow: str
    plan: list[PlannedStepRecord]
    problems: Annotated[list[str], "About its parameters."]
    warnings: list[str]


WorkflowNameOf = Annotated[str, Path(alias="name", pattern=f"^(?:{WORKFLOW_NAME})$", description="Its name.")]
