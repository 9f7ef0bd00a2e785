"""How a workflow is asked to run, what its plan is, and why it cannot run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.text.redaction import Redactor, redact_json
from tocsin.runs.model import Run

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WorkflowRequest:
    """How and for whom a workflow is run. `source` is what asks, as the audit log has it."""

    trigger: str
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
    is_masked: bool = False  # a value of it is a secret that was not stored

    def params_for(self, workflow: "Workflow") -> dict[str, Any]:
        """Return the parameters that a workflow is given."""
        return {**{name: value for name, value in self.offers.items() if name in workflow.params}, **self.params}


def stored_request(request: WorkflowRequest, workflow: "Workflow", redact: Redactor) -> dict[str, Any]:
    """Return a request as JSON, for the process that continues its run; secrets are masked."""
    own = {"params": dict(request.params), "env": dict(request.env)}
    shown = redact_json(own, redact)
    return {
        **shown,
        "only": list(request.only),
        "from_step": request.from_step,
        "ancestry": list(request.ancestry),
        "notify_profile": workflow.notify_profile,
        "notify_on": list(workflow.notify_on),
        **({"is_masked": True} if shown != own else {}),
    }


def restored_request(run: Run, stored: Mapping[str, Any]) -> WorkflowRequest:
    """Return the request of a run from what was stored of it; a retry is not repeated, as its steps are recorded."""
    return WorkflowRequest(
        run.trigger,
        run.source,
        run.actor,
        params=stored["params"],
        env=stored["env"],
        only=stored["only"],
        from_step=stored["from_step"],
        parent_run_id=run.parent_run_id,
        ancestry=tuple(stored["ancestry"]),
        scheduled_for=run.scheduled_for,
        is_masked=bool(stored.get("is_masked")),
    )


class PlannedRun(NamedTuple):
    """Plan of a run."""

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
