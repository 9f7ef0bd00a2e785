"""Workflows in their public form: with `--json` and in the REST API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.records.marks import Time
from tocsin.features.workflows.language.graph import WorkflowGraph, graph_of
from tocsin.features.workflows.language.model import WorkflowProblem
from tocsin.features.workflows.store import WorkflowFile
from tocsin.runs.model import Run, RunStatus, RunSummary


@dataclass(frozen=True, slots=True)
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
    schedules: Annotated[Sequence[str], "IDs of the cron jobs that start it."]
    last_run: RunSummary | None
    recent: Annotated[Sequence[RecentWorkflowRun], "Newest 30 runs."]


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """Errors of a workflow, or its graph if it has none."""

    valid: bool
    errors: Sequence[WorkflowProblem]
    warnings: Sequence[WorkflowProblem]
    graph: WorkflowGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord(WorkflowSummary):
    """Workflow with the content of its file."""

    yaml: str
    definition: Annotated[dict[str, Any] | None, "The workflow as plain values; null if it has errors."]
    params: Annotated[Mapping[str, Any], "Schema of each parameter."]
    errors: Sequence[WorkflowProblem]
    warnings: Sequence[WorkflowProblem]
    graph: WorkflowGraph


def summarize(file: WorkflowFile, runs: Sequence[Run], schedules: Sequence[str]) -> WorkflowSummary:
    """Return a workflow as in lists; `runs` are its last ones, the newest first, `schedules` IDs of cron jobs."""
    return WorkflowSummary(**_summary(file, runs, schedules))


def describe(file: WorkflowFile, runs: Sequence[Run], schedules: Sequence[str]) -> WorkflowRecord:
    """Return a workflow with the content of its file."""
    workflow, checked = file.read.workflow, validate(file)
    return WorkflowRecord(
        **_summary(file, runs, schedules),
        yaml=file.content.decode(errors="replace"),
        definition=parse_yaml(file.content, file.path, _plain) if file.valid else None,
        params={name: rule.as_schema() for name, rule in workflow.params.items()} if workflow else {},
        errors=checked.errors,
        warnings=checked.warnings,
        graph=checked.graph,
    )


def validate(file: WorkflowFile) -> ValidationRecord:
    """Return the errors of a workflow, or its graph if it has none."""
    workflow = file.read.workflow
    graph = graph_of(workflow) if workflow else WorkflowGraph()
    return ValidationRecord(file.valid, file.read.errors, file.read.warnings, graph)


def _summary(file: WorkflowFile, runs: Sequence[Run], schedules: Sequence[str]) -> dict[str, Any]:
    workflow = file.read.workflow
    return {
        "name": file.name,
        "description": workflow.description if workflow else "",
        "notify_profile": (workflow.notify_profile or None) if workflow else None,
        "steps_count": len(list(workflow.all_steps())) if workflow else 0,
        "valid": file.valid,
        "error_count": len(file.read.errors),
        "file": str(file.path),
        "updated_at": file.modified_at,
        "schedules": schedules,
        "last_run": runs[0] if runs else None,
        "recent": [RecentWorkflowRun(run.id, run.status, run.started_at, run.duration_ms) for run in runs],
    }


def _plain(node: Node) -> Any:
    if node.is_null or node.absent:
        return None
    if (items := node.as_items()) is not None:
        return [_plain(item) for item in items]
    if (members := node.as_members()) is not None:
        return {name: _plain(member) for name, member in members}
    found = (node.as_boolean(), node.as_whole(), node.as_number(), node.as_text())
    return next((value for value in found if value is not None), None)
