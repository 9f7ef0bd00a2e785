"""What operations on skills take and answer."""

from typing import Any

from pydantic import Field

from tocsin.features.skills.model import MAX_TIMEOUT_S, ExecutionMode, Kind
from tocsin.rest.models import RequestModel, ResponseModel
from tocsin.rest.runs import RunSummary


class DependencyRecord(ResponseModel):
    """A program that a skill needs."""

    name: str
    found: bool
    path: str | None


class SkillProblemRecord(ResponseModel):
    """A mistake, or a hint, in a file of a skill."""

    file: str
    line: int
    column: int
    key: str
    detail: str


class SkillWarning(ResponseModel):
    """What would keep the program of a skill from starting."""

    detail: str
    fix: str


class SkillRecord(ResponseModel):
    """A skill: a program, or instructions for the assistant."""

    name: str
    kind: Kind
    description: str
    enabled: bool
    active_reason: str = Field(description="Why it is active or not, in one sentence.")
    priority: str | None
    model: str | None
    tools: list[str]
    trigger_keywords: list[str]
    file_patterns: list[str]
    exclude_patterns: list[str]
    coordination: dict[str, Any] | None
    permissions: list[str]
    vault: list[str] | None = Field(description="The secrets that it gets; null is all, with the permission `vault`.")
    dependencies: list[DependencyRecord]
    command: str | None
    timeout_seconds: int | None
    runnable: bool
    usable: bool | None = Field(description="Of an assistant skill: whether it has what it needs.")
    at_hand: bool | None = Field(description="Of an assistant skill: whether it runs without being given a folder.")
    valid: bool
    errors: list[SkillProblemRecord]
    warnings: list[SkillWarning]
    hints: list[SkillProblemRecord]
    built_in: bool
    path: str
    file: str
    last_run: RunSummary | None
    runs_30d: int


class ActivationRecord(ResponseModel):
    """A question whether a skill acts on a file: why no service looks at it, then the four about the skill."""

    question: str
    ok: bool | None = Field(description="Null where it is not known, or only a file gives the answer.")
    reason: str


class SkillDetail(SkillRecord):
    """A skill, its instructions, and whether it acts on a file."""

    body: str | None
    checks: list[ActivationRecord]


class RunSkillNow(RequestModel):
    """How to run a skill."""

    args: list[str] = Field(default=[], max_length=1000, description="Of an assistant skill: files and folders.")
    input: str = Field(default="", description="Standard input; of an assistant skill, what to do.")
    mode: ExecutionMode = Field(default=ExecutionMode.SANDBOXED, strict=False)
    timeout_seconds: int | None = Field(default=None, ge=1, le=MAX_TIMEOUT_S, description="Less than its own.")
    dry_run: bool = Field(default=False, description="Only report what would run.")
