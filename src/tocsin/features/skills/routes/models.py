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
    """A program that a skill needs."""

    name: str
    found: bool
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProblemRecord:
    """A mistake, or a hint, in a file of a skill."""

    file: str
    line: int
    column: int
    key: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillWarning:
    """What would keep the program of a skill from starting."""

    detail: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """A skill: a program, or instructions for the assistant."""

    name: str
    kind: Kind
    description: str
    enabled: bool
    active_reason: Annotated[str, "Why it is active or not, in one sentence."]
    priority: str | None
    model: str | None
    tools: list[str]
    trigger_keywords: list[str]
    file_patterns: list[str]
    exclude_patterns: list[str]
    coordination: dict[str, Any] | None
    permissions: list[str]
    vault: Annotated[list[str] | None, "The secrets that it gets; null is all, with the permission `vault`."]
    dependencies: list[DependencyRecord]
    command: str | None
    timeout_seconds: int | None
    runnable: bool
    usable: Annotated[bool | None, "Of an assistant skill: whether it has what it needs."]
    at_hand: Annotated[bool | None, "Of an assistant skill: whether it runs without being given a folder."]
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
    """A question whether a skill acts on a file: why no service looks at it, then the four about the skill."""

    question: str
    ok: Annotated[bool | None, "Null where it is not known, or only a file gives the answer."]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetail(SkillRecord):
    """A skill, its instructions, and whether it acts on a file."""

    body: str | None
    checks: list[ActivationRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkillNow(RequestBody):
    """How to run a skill."""

    args: Annotated[
        list[str], Written(ListType(TextType(), max_items=1000)), "Of an assistant skill: files and folders."
    ] = field(default_factory=list)
    input: Annotated[str, Written(TextType(blank=True)), "Standard input; of an assistant skill, what to do."] = ""
    mode: Annotated[ExecutionMode, Written(ChoiceType(tuple(ExecutionMode)))] = ExecutionMode.SANDBOXED
    timeout_seconds: Annotated[
        int | None, Written(IntegerType(1, MAX_TIMEOUT_S), nullable=True), "Less than its own."
    ] = None
    dry_run: Annotated[bool, FLAG, "Only report what would run."] = False
