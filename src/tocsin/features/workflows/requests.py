"""How a workflow is asked to run, what its plan is, and why it cannot run."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.runs.model import Run, RunTrigger

if TYPE_CHECKING:
    from tocsin.features.workflows.engine.plan import PlannedStep
    from tocsin.features.workflows.language.model import Workflow
    from tocsin.runs.control import Retry


class InvalidRunError(TocsinError):
    """A run cannot be started as it was asked for."""

    code = "validation-failed"


class AlreadyRunningError(TocsinError):
    """The workflow is at work, and its `overlap` says that no second run starts; `run` is the skipped one."""

    code = "run-already-active"

    def __init__(self, message: str, run: Run, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.run = run


@dataclass(frozen=True, slots=True)
class WorkflowRequest:
    """How and for whom a workflow is run. `source` is what asks, as the audit log has it."""

    trigger: RunTrigger
    source: str
    actor: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    offers: Mapping[str, Any] = field(default_factory=dict)  # parameters that it gets where it declares them
    env: Mapping[str, str] = field(default_factory=dict)
    only: Collection[str] = ()  # run these steps alone
    from_step: str = ""  # run this step and those after it
    retry: "Retry | None" = None  # keep what succeeded in that run
    parent_run_id: str | None = None
    ancestry: tuple[str, ...] = ()  # the workflows that started this one, the outermost first
    scheduled_for: float | None = None
    on_end: Callable[[Run], None] | None = None

    def params_for(self, workflow: "Workflow") -> dict[str, Any]:
        """Return the parameters that a workflow is given."""
        return {**{name: value for name, value in self.offers.items() if name in workflow.params}, **self.params}


class PendingRun(NamedTuple):
    """A run that waits for earlier ones; `task` returns it once it has ended."""

    run: Run
    task: asyncio.Task[Run]


class PlannedRun(NamedTuple):
    """What a run would do."""

    workflow: "Workflow"
    steps: "tuple[PlannedStep, ...]"
    problems: tuple[str, ...]  # about its parameters
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether a run could start."""
        return not self.problems

    def as_record(self) -> dict[str, Any]:
        """Return what `--json` and the HTTP interface show of it."""
        return {
            "dry_run": True,
            "workflow": self.workflow.name,
            "plan": [step.as_record() for step in self.steps],
            "problems": list(self.problems),
            "warnings": list(self.warnings),
        }
