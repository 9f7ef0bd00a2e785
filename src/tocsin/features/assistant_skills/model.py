"""The model of assistant skills and of their output."""

from dataclasses import asdict, dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError, NotFoundError
from tocsin.core.reading.front_matter import PRIORITIES, Invocation, SkillDefinition
from tocsin.core.reading.yaml_node import YamlIssue
from tocsin.features.skill_records import Kind, SkillFinding, SkillRecord, problem_in
from tocsin.runs.model import Run

INSTRUCTIONS = "SKILL.md"
# The shipped skills that look by fixed rules, and need no chat model.
SECRETS, DEPENDENCIES, COMMITS = "secret-scanner", "dependency-auditor", "git-commit-helper"
WITHOUT_MODEL = (SECRETS, DEPENDENCIES, COMMITS)


class UnknownAssistantError(NotFoundError):
    """No assistant skill has this name."""


class AssistantUnusableError(ConfigError):
    """An assistant skill cannot be run: it has a mistake, is switched off, or needs a chat model."""


class AssistantDisabledError(AssistantUnusableError):
    """An assistant skill is switched off."""

    code = "disabled"


class NoModelError(AssistantUnusableError):
    """An assistant skill needs a chat model, and none is configured."""

    code = "not-ready"
    lacks_setting = True


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
        """The file that defines the skill."""
        return self.path / INSTRUCTIONS

    @property
    def rank(self) -> tuple[int, str]:
        """Its position among the skills that act on one file: `high` first."""
        priority = self.definition.priority if self.definition else PRIORITIES[-1]
        return PRIORITIES.index(priority), self.name

    def record(self, *, usable: bool, at_hand: bool, last_run: Run | None, runs_30d: int) -> SkillRecord:
        definition = self.definition or SkillDefinition("", "", model="", enabled=False, priority="")
        return SkillRecord(
            name=self.name,
            kind=Kind.ASSISTANT,
            description=definition.description,
            enabled=definition.enabled,
            priority=definition.priority or None,
            model=definition.model or None,
            tools=definition.tools,
            trigger_keywords=definition.trigger_keywords,
            file_patterns=definition.file_patterns,
            exclude_patterns=definition.exclude_patterns,
            coordination={"invoke_agents": [asdict(each) for each in definition.invoke_agents]}
            if self.definition
            else None,
            runnable=not self.errors and definition.enabled,
            valid=not self.errors,
            errors=[problem_in(self.file, issue) for issue in self.errors],
            hints=[problem_in(self.file, issue) for issue in definition.hints],
            built_in=self.built_in,
            path=str(self.path),
            file=str(self.file),
            usable=usable,
            at_hand=at_hand,
            last_run=last_run,
            runs_30d=runs_30d,
        )


@dataclass(frozen=True, slots=True)
class ChangedText:
    """One file of a patch; `before` is the digest of its former content, empty for a new file."""

    path: str
    before: str
    text: str


@dataclass(frozen=True, slots=True)
class SkillOutput:
    """The findings of a skill about files."""

    findings: tuple[SkillFinding, ...] = ()
    files: int = 0
    notes: tuple[str, ...] = ()  # what was not looked at, and why
    changes: tuple[ChangedText, ...] = ()
    diff: str = ""  # the changes, for people
    invoked: tuple[Invocation, ...] = ()
