"""The JSON Schema of workflow files, for editors that complete and check while one types."""

from typing import Any

from tocsin.core.reading.json_schema import file_schema, record_schema, written
from tocsin.features.workflows.language.model import ALIASES, StepType
from tocsin.features.workflows.language.schema import STEPS, WORKFLOW


def published_schema() -> dict[str, Any]:
    definitions: dict[str, Any] = {"step": _step()}
    definitions |= {f"{kind}_step": _step_of(kind) for kind in StepType}
    return {**file_schema("workflows/*.yaml of Tocsin", WORKFLOW), "$defs": definitions}


def _words(kind: StepType) -> list[str]:
    return [str(kind), *(alias for alias, meant in ALIASES.items() if meant is kind)]


def _step() -> dict[str, Any]:
    """Return the schema of any step: that of its type, by default of a shell step."""
    schema: dict[str, Any] = {"$ref": f"#/$defs/{StepType.SHELL}_step"}
    for kind in StepType:
        if kind is not StepType.SHELL:
            known = {"properties": {"type": {"enum": _words(kind)}}, "required": ["type"]}
            schema = {"if": known, "then": {"$ref": f"#/$defs/{kind}_step"}, "else": schema}
    return schema


def _step_of(kind: StepType) -> dict[str, Any]:
    schema = record_schema(written(STEPS[kind]))
    kept = {name: each for name, each in schema["properties"].items() if name != "type"}
    described = {"enum": _words(kind), "description": "Description"}
    properties = {"name": kept.pop("name"), "type": described, **kept}
    return {**schema, "properties": properties}
