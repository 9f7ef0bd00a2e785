"""The public form of workflows: with `--json` and in the HTTP interface."""

from collections.abc import Sequence
from typing import Any

from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import timestamp
from tocsin.features.workflows.engine.plan import graph_of
from tocsin.features.workflows.store import WorkflowFile
from tocsin.runs.model import Run, RunSummary


def list_document(file: WorkflowFile, runs: Sequence[Run], schedules: Sequence[str]) -> dict[str, Any]:
    """Return the record of a workflow in a list.

    `runs` are its last ones, the newest first, `schedules` the IDs of the cron jobs that start it.
    """
    workflow = file.read.workflow
    recent = [
        {
            "id": run.id,
            "status": str(run.status),
            "started_at": timestamp(run.started_at),
            "duration_ms": run.duration_ms,
        }
        for run in runs
    ]
    return {
        "name": file.name,
        "description": workflow.description if workflow else "",
        "notify_profile": (workflow.notify_profile or None) if workflow else None,
        "steps_count": len(list(workflow.all_steps())) if workflow else 0,
        "valid": file.valid,
        "error_count": len(file.read.errors),
        "file": str(file.path),
        "updated_at": timestamp(file.modified_at),
        "schedules": list(schedules),
        "last_run": to_json(runs[0], RunSummary) if runs else None,
        "recent": recent,
    }


def detail_document(file: WorkflowFile, runs: Sequence[Run], schedules: Sequence[str]) -> dict[str, Any]:
    """Return the record of one workflow, with what is in its file."""
    workflow = file.read.workflow
    return {
        **list_document(file, runs, schedules),
        "yaml": file.content.decode(errors="replace"),
        "definition": definition_of(file),
        "params": {name: rule.as_schema() for name, rule in workflow.params.items()} if workflow else {},
        **validation_document(file),
    }


def definition_of(file: WorkflowFile) -> Any:
    """Return what a valid file says as plain values, else None."""
    return parse_yaml(file.content, file.path, _plain) if file.valid else None


def _plain(node: Node) -> Any:
    if node.is_null or node.absent:
        return None
    if (items := node.as_items()) is not None:
        return [_plain(item) for item in items]
    if (members := node.as_members()) is not None:
        return {name: _plain(member) for name, member in members}
    found = (node.as_boolean(), node.as_whole(), node.as_number(), node.as_text())
    return next((value for value in found if value is not None), None)


def validation_document(file: WorkflowFile) -> dict[str, Any]:
    """Return what is wrong with a workflow, and its graph where nothing is."""
    workflow = file.read.workflow
    return {
        "valid": file.valid,
        "errors": [problem.as_record() for problem in file.read.errors],
        "warnings": [problem.as_record() for problem in file.read.warnings],
        "graph": graph_of(workflow) if workflow else {"nodes": [], "edges": []},
    }
