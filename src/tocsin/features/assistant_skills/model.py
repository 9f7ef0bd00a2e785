"""What an assistant skill is, what it finds, and whether it acts on a file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.front_matter import PRIORITIES, Invocation, SkillDefinition
from tocsin.core.reading.yaml_node import YamlIssue

INSTRUCTIONS = "SKILL.md"
# The shipped skills that look by fixed rules, and need no chat model.
SECRETS, DEPENDENCIES, COMMITS = "secret-scanner", "dependency-auditor", "git-commit-helper"
WITHOUT_MODEL = (SECRETS, DEPENDENCIES, COMMITS)


class UnknownAssistantError(TocsinError):
    """There is no assistant skill of that name."""

    code = "not-found"


class AssistantUnusableError(ConfigError):
    """An assistant skill cannot be run: it has a mistake, is switched off, or needs a chat model."""


class AssistantDisabledError(AssistantUnusableError):
    """An assistant skill is switched off."""

    code = "disabled"


class NoModelError(AssistantUnusableError):
    """An assistant skill needs a chat model, and there is none."""

    code = "not-ready"
    lacks_setting = True


class Severity(StrEnum):
    """How bad a finding is."""

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

    def document(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {**asdict(self), "severity": str(self.severity)}


@dataclass(frozen=True, slots=True)
class AssistantSkill:
    """A skill as its folder has it; one with `errors` is shown and never run."""

    name: str
    path: Path
    built_in: bool
    definition: SkillDefinition | None = None
    body: str = ""
    errors: tuple[YamlIssue, ...] = ()

    @property
    def file(self) -> Path:
        """The file that says what it is."""
        return self.path / INSTRUCTIONS

    @property
    def rank(self) -> tuple[int, str]:
        """Where it stands among those that act on one file: `high` first."""
        priority = self.definition.priority if self.definition else PRIORITIES[-1]
        return PRIORITIES.index(priority), self.name

    def document(self) -> dict[str, Any]:
        """Return the record of a skill, without what only its runs can tell."""
        definition = self.definition
        return {
            "name": self.name,
            "kind": "assistant",
            "description": definition.description if definition else "",
            "enabled": definition.enabled if definition else False,
            "priority": definition.priority if definition else None,
            "model": definition.model if definition else None,
            "tools": list(definition.tools) if definition else [],
            "trigger_keywords": list(definition.trigger_keywords) if definition else [],
            "file_patterns": list(definition.file_patterns) if definition else [],
            "exclude_patterns": list(definition.exclude_patterns) if definition else [],
            "coordination": {"invoke_agents": [asdict(each) for each in definition.invoke_agents]}
            if definition
            else None,
            "permissions": [],
            "dependencies": [],
            "command": None,
            "timeout_seconds": None,
            "runnable": not self.errors and definition is not None and definition.enabled,
            "valid": not self.errors,
            "errors": [self._problem(issue) for issue in self.errors],
            "warnings": [],
            "hints": [self._problem(issue) for issue in (definition.hints if definition else ())],
            "built_in": self.built_in,
            "path": str(self.path),
            "file": str(self.file),
        }

    def _problem(self, issue: YamlIssue) -> dict[str, Any]:
        return {"file": str(self.file), **issue.as_dict()}


@dataclass(frozen=True, slots=True)
class ActivationCheck:
    """A question whether a skill acts on a file, with its answer and the reason; `None` where that is not known."""

    question: str
    ok: bool | None
    reason: str

    def document(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ChangedText:
    """One file of a patch; `before` is the digest of what stood there, empty for a new file."""

    path: str
    before: str
    text: str


@dataclass(frozen=True, slots=True)
class SkillOutput:
    """What a skill says about files."""

    findings: tuple[SkillFinding, ...] = ()
    files: int = 0
    notes: tuple[str, ...] = ()  # what was not looked at, and why
    changes: tuple[ChangedText, ...] = ()
    diff: str = ""  # the changes, for people
    invoked: tuple[Invocation, ...] = ()


def finding_of(document: Mapping[str, Any]) -> SkillFinding:
    """Return the finding that `SkillFinding.document` made a document of."""
    return SkillFinding(**{**document, "severity": Severity(document["severity"])})
