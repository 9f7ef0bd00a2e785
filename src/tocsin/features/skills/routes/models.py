"""What operations on skills take and answer."""

from dataclasses import dataclass, field
from typing import Annotated

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.skills.model import MAX_TIMEOUT_S, ExecutionMode
from tocsin.rest.bodies import FLAG, RequestBody


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkillNow(RequestBody):
    """Options for running a skill."""

    args: Annotated[
        list[str], Written(ListType(TextType(), max_items=1000)), "For an assistant skill: files and folders."
    ] = field(default_factory=list)
    input: Annotated[str, Written(TextType(blank=True)), "Standard input; for an assistant skill, the task."] = ""
    mode: Annotated[ExecutionMode, Written(ChoiceType(tuple(ExecutionMode)))] = ExecutionMode.SANDBOXED
    timeout_seconds: Annotated[
        int | None, Written(IntegerType(1, MAX_TIMEOUT_S), nullable=True), "Time limit, at most the skill's own."
    ] = None
    dry_run: Annotated[bool, FLAG, "Only report what would run."] = False
