"""The model of a workflow, whose references were all checked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from tocsin.core.expressions.expression import Expression
from tocsin.core.expressions.template import Template
from tocsin.core.records.marks import Private, TextOrNull
from tocsin.features.workflows.language.outputs import OutputRule

REJECTED = "rejected"  # a step, by a person, who is not asked again
MAX_DEPTH = 5  # of workflows below the one that is started
DEFAULT_SHELL = ("sh", "-eu")
_ABOUT_KEY = re.compile(r"unknown key '[^']*'|key '[^']*' is missing")


class StepType(StrEnum):
    """The type of a step."""

    SHELL = "shell"
    SSH = "ssh"
    SKILL = "skill"
    PROMPT = "prompt"
    NOTIFY = "notify"
    HTTP = "http"
    WAIT = "wait"
    WORKFLOW = "workflow"


# What every step of a type hands on.
IMPLICIT: Mapping[StepType, tuple[str, ...]] = {
    StepType.SHELL: (),
    StepType.SSH: ("run_id",),
    StepType.SKILL: ("run_id",),
    StepType.PROMPT: ("text", "json"),
    StepType.NOTIFY: ("sent", "failed"),
    StepType.HTTP: ("status", "body", "headers"),
    StepType.WAIT: ("decision", "by", "comment"),
    StepType.WORKFLOW: ("run_id",),
}
ALIASES = {"chat": StepType.PROMPT, "message": StepType.NOTIFY}


class ProblemSeverity(StrEnum):
    """Whether a problem keeps the workflow from running."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class WorkflowProblem:
    """Error in a file."""

    schema_name: ClassVar[str] = "MistakeRecord"

    line: int
    column: int
    key: str
    pointer: str  # a JSON pointer
    code: str
    detail: str
    suggestion: TextOrNull = ""
    severity: str = ProblemSeverity.ERROR
    where: Private[str] = ""  # the way to the value, as in `steps[1].command`

    def as_line(self, file: str) -> str:
        """Return the line that editors understand."""
        warned = "warning: " if self.severity == ProblemSeverity.WARNING else ""
        return f"{file}:{self.line}:{self.column}: {warned}{self._told()}"

    def _told(self) -> str:
        """Return the detail with its place: `unknown key 'comand' in steps[1]`, else `steps[1].when: …`."""
        if not self.where:
            return self.detail
        about_key = _ABOUT_KEY.match(self.detail)
        if about_key is None:
            return f"{self.where}: {self.detail}"
        return f"{about_key[0]} in {self.where}{self.detail[about_key.end() :]}"


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often a failed step is tried, and how long the pauses are."""

    max_attempts: int = 1
    delay_s: float = 10.0
    backoff: float = 2.0
    max_delay_s: float = 300.0
    on_exit_codes: tuple[int, ...] = ()

    def delay_after(self, attempt: int) -> float:
        """Return the seconds to wait after the attempt of that number, counted from 1."""
        return float(min(self.delay_s * self.backoff ** min(attempt - 1, 64), self.max_delay_s))


@dataclass(frozen=True, slots=True)
class ParamRule:
    """One parameter of a workflow."""

    type: str
    required: bool = False
    default: Any = None
    description: str = ""
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    def as_schema(self) -> dict[str, Any]:
        """Return the parameter as a form shows it."""
        kind = {"type": "array"} if self.type == "list" else {"type": self.type}
        given = {
            "description": self.description or None,
            "default": self.default,
            "enum": list(self.enum) or None,
            "minimum": self.minimum,
            "maximum": self.maximum,
        }
        return {**kind, "required": self.required, **{name: v for name, v in given.items() if v is not None}}


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    """One step. `command` is a template, or one for each word of a program that is started without a shell."""

    name: str
    type: StepType
    line: int
    command: Template | tuple[Template, ...]
    description: str = ""
    needs: tuple[str, ...] = ()  # the steps it starts after, in order or in the graph
    when: Expression | None = None
    env: Mapping[str, Template] = field(default_factory=dict)
    working_dir: Template | None = None
    timeout_s: float | None = None
    retry: RetryRule = field(default_factory=RetryRule)
    continue_on_error: bool = False
    retry_interrupted: bool = False
    outputs: Mapping[str, OutputRule] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)  # of a child workflow: values with templates in them
    for_each: "tuple[Any, ...] | Template | None" = None
    max_parallel: int = 1
    require_success: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)  # the keys of its type alone

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return (*self.outputs, *IMPLICIT[self.type])

    def option(self, name: str, default: Any = None) -> Any:
        """Return a key of the step's type, or the default if the file does not have it."""
        value = self.options.get(name)
        return default if value is None else value


@dataclass(frozen=True, slots=True)
class Workflow:
    """One workflow file without mistakes."""

    name: str
    description: str
    steps: tuple[WorkflowStep, ...]
    graph: bool  # whether `depends_on` decides on the order
    notify_profile: str = ""
    notify_on: tuple[str, ...] = ("always",)
    timezone: str = ""
    timeout_s: float | None = None
    max_parallel: int = 4
    overlap: str = "skip"
    env: Mapping[str, Template] = field(default_factory=dict)
    params: Mapping[str, ParamRule] = field(default_factory=dict)
    working_dir: str = ""
    on_success: tuple[WorkflowStep, ...] = ()
    on_failure: tuple[WorkflowStep, ...] = ()
    on_finish: tuple[WorkflowStep, ...] = ()

    def all_steps(self) -> Iterator[WorkflowStep]:
        """Yield every step, those that run after the others last."""
        yield from (*self.steps, *self.on_success, *self.on_failure, *self.on_finish)

    def step(self, name: str) -> WorkflowStep | None:
        return next((step for step in self.all_steps() if step.name == name), None)
