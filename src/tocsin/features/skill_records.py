"""The public records of skills, which the features with programs and with assistant skills make in the same form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tocsin.core.reading.yaml_node import YamlIssue
from tocsin.core.records.marks import TextOrNull, after
from tocsin.runs.model import RunSummary


class Kind(StrEnum):
    """Kind of a skill."""

    ASSISTANT = "assistant"  # instructions that a model reads
    RUNNABLE = "runnable"  # a program


class Severity(StrEnum):
    """The severity of a finding."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Return 0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """Something that a skill found; a line of 0 is the whole file."""

    path: str
    line: int
    severity: Severity
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Program required by a skill."""

    schema_name: ClassVar[str] = "DependencyRecord"

    name: str
    path: TextOrNull  # empty if it was not found

    @property
    @after("name")
    def found(self) -> bool:
        """Whether it was found."""
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class SkillProblemRecord:
    """Error or hint in a file of a skill."""

    file: str
    line: int
    column: int
    key: str
    detail: str


def problem_in(file: Path, issue: YamlIssue) -> SkillProblemRecord:
    """Return the record of an error or hint in `file`."""
    return SkillProblemRecord(str(file), issue.line, issue.column, issue.wrong_key, issue.detail)


@dataclass(frozen=True, slots=True)
class SkillWarning:
    """Problem that prevents the program of a skill from starting."""

    detail: str
    fix: str


@dataclass(frozen=True, slots=True)
class ActivationCheck:
    """One of the checks that decide whether a skill is active for a file."""

    schema_name: ClassVar[str] = "ActivationRecord"

    question: str
    ok: Annotated[bool | None, "Null if unknown, or if it depends on the file."]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """Runnable skill or assistant skill."""

    priority: str | None = None
    model: str | None = None
    tools: Sequence[str] = ()
    trigger_keywords: Sequence[str] = ()
    file_patterns: Sequence[str] = ()
    exclude_patterns: Sequence[str] = ()
    coordination: dict[str, Any] | None = None
    vault: Annotated[
        Sequence[str] | None, "Secrets passed to the skill; null means all, with the permission `vault`."
    ] = None
    usable: Annotated[bool | None, "For an assistant skill: whether its requirements are met."] = None
    at_hand: Annotated[bool | None, "For an assistant skill: whether it runs without a given folder."] = None
    name: str
    kind: Kind
    description: str
    enabled: bool
    permissions: Sequence[str] = ()
    dependencies: Sequence[Dependency] = ()
    command: str | None = None
    timeout_seconds: int | None = None
    runnable: bool
    valid: bool
    errors: Sequence[SkillProblemRecord]
    warnings: Sequence[SkillWarning] = ()
    hints: Sequence[SkillProblemRecord]
    built_in: bool
    path: str
    file: str
    last_run: RunSummary | None
    runs_30d: int

    @property
    @after("runs_30d")
    def active_reason(self) -> str:
        """Reason why the skill is active or not, in one sentence."""
        if not self.valid:
            return f"it has an error: {self.errors[0].detail}"
        if not self.enabled:
            return f"it is disabled in {self.file}"
        if missing := self.missing:
            return f"missing programs: {', '.join(missing)}"
        if self.kind is Kind.RUNNABLE:
            return "it is run by name"
        if self.usable is False:
            return "it needs a chat model"
        if self.at_hand:
            return "it checks changes in the folders of SKILLS_WATCH"
        return "SKILLS_WATCH is empty: it runs only by name or with `tocsin skills watch`"

    @property
    def missing(self) -> list[str]:
        """The names of the dependencies that were not found."""
        return [each.name for each in self.dependencies if not each.found]

    @property
    def hindrance(self) -> str:
        """The reason why it cannot be run without being given a folder, or an empty text; it is shown in chats."""
        if not self.valid:
            return "it has an error"
        if not self.enabled:
            return "it is disabled"
        if self.kind is Kind.RUNNABLE or self.at_hand:
            return ""
        return "SKILLS_WATCH contains no folder for it" if self.usable else "it needs a chat model"


def to_mapping(record: SkillRecord) -> Mapping[str, Any]:
    """Return the fields of a record, for one with more fields."""
    return {name: getattr(record, name) for name in SkillRecord.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetail(SkillRecord):
    """Skill with its instructions and activation checks."""

    body: str | None
    checks: Sequence[ActivationCheck]
