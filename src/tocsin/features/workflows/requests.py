"""Requests to run a workflow, plans of runs, and the errors of both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import TextOrNull, after
from tocsin.core.text.redaction import Redactor, redact_json
from tocsin.runs.model import Run

if TYPE_CHECKING:
    from tocsin.features.workflows.language.model import Workflow
    from tocsin.features.workflows.language.params import InputProblem
    from tocsin.runs.control import Retry


class InvalidRunError(TocsinError):
    """A run cannot be started as it was asked for; `problems` are those of its parameters and variables."""

    code = "validation-failed"

    def __init__(
        self, message: str, *, hint: str = "", body_key: str = "", problems: "Sequence[InputProblem]" = ()
    ) -> None:
        super().__init__(message, hint=hint, body_key=body_key)
        self.problems = problems


class AlreadyRunningError(TocsinError):
    """A run of the workflow is active, and its `overlap` allows no second one; `run` is the skipped one."""

    code = "run-already-active"

    def __init__(self, message: str, run: Run, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.run = run


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WorkflowRequest:
    """A request to run a workflow. `source` is the source of the audit entry."""

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
    run_id: str = ""  # as `StartRequest.run_id`
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
    """Restore the request of a run; a retry is not repeated, because its steps are recorded."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """Plan of a step."""

    schema_name: ClassVar[str] = "PlannedStepRecord"

    step: str
    type: str
    wave: int
    group: str  # steps, on_success, on_failure or on_finish
    would_run: Annotated[bool | None, "Null if it depends on other steps."]
    when: str | None
    command: str
    variables: Annotated[Mapping[str, str], "Environment variables used by the script, as far as known."]
    for_each: Annotated[TextOrNull, "Placeholder that supplies the values."]
    items: Annotated[Sequence[Any] | None, "Values of `for_each`; null if they depend on other steps."]
    depends_on: tuple[str, ...]
    hosts: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    @after("depends_on")
    def host(self) -> str | None:
        """The hosts, separated by commas."""
        return ", ".join(self.hosts) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """Plan of a run."""

    schema_name: ClassVar[str] = "PlanRecord"

    dry_run: bool = True
    workflow: str
    plan: tuple[PlannedStep, ...]
    problems: Annotated[tuple[str, ...], "Problems with the parameters."]
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether a run could start."""
        return not self.problems
