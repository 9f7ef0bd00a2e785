"""What operations on workflows take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from fastapi import Path

from tocsin.core.reading.fields import AnyType, ListType, MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.workflows.language.schema import WORKFLOW_NAME
from tocsin.rest.bodies import FLAG, RequestBody, text

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
