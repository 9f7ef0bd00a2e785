"""What operations on skills take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.skills.model import MAX_TIMEOUT_S, ExecutionMode, Kind
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.runs.model import RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyRecord:
    """Program required by a skill."""

    name: str
    found: bool
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProblemRecord:
    """Error or hint in a file of a skill."""

    file: str
    line: int
    column: int
    key: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillWarning:
    """Problem that prevents the program of a skill from starting."""

    detail: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """Runnable skill or assistant skill."""

    name: str
    kind: Kind
    description: str
    enabled: bool
    active_reason: Annotated[str, "Reason why the skill is active or not, in one sentence."]
    priority: str | None
    model: str | None
    tools: list[str]
    trigger_keywords: list[str]
    file_patterns: list[str]
    exclude_patterns: list[str]
    coordination: dict[str, Any] | None
    permissions: list[str]
    vault: Annotated[list[str] | None, "Secrets passed to the skill; null means all, with the permission `vault`."]
    dependencies: list[DependencyRecord]
    command: str | None
    timeout_seconds: int | None
    runnable: bool
    usable: Annotated[bool | None, "For an assistant skill: whether its requirements are met."]
    at_hand: Annotated[bool | None, "For an assistant skill: whether it runs without a given folder."]
    valid: bool
    errors: list[SkillProblemRecord]
    warnings: list[SkillWarning]
    hints: list[SkillProblemRecord]
    built_in: bool
    path: str
    file: str
    last_run: RunSummary | None
    runs_30d: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationRecord:
    """One of the checks that decide whether a skill is active for a file."""

    question: str
    ok: Annotated[bool | None, "Null if unknown, or if it depends on the file."]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetail(SkillRecord):
    """Skill with its instructions and activation checks."""

    body: str | None
    checks: list[ActivationRecord]


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
