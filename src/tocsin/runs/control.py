"""Operations on runs for people, with their audit entries: cancel, approve, reject, retry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tocsin.core.audit.actions import ACTOR, CLI, OUTCOME, REASON, RUN, STATUS, AuditAction, AuditField
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import CHAT, ButtonPress, Decision, NotApproverError, UnknownQuestionError
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.engine.executor import GRACE_S
from tocsin.runs.model import TERMINAL, Run, RunSpec, RunTrigger
from tocsin.runs.service import Runs

MAX_GRACE_S = 60.0

_KIND = AuditField("run_kind", "kind of the run, for example `cron`")
_STEP = AuditField("step", "name of the step")
_COMMENT = AuditField("comment", "comment of the person")

RUN_CANCEL = AuditAction("run.cancel", "Cancellation of a run was requested.", (RUN, _KIND, STATUS), (REASON, ACTOR))
RUN_APPROVE = AuditAction("run.approve", "A waiting step was approved.", (RUN, _KIND, _STEP), (_COMMENT, ACTOR))
RUN_REJECT = AuditAction("run.reject", "A waiting step was rejected.", (RUN, _KIND, _STEP), (_COMMENT, ACTOR))
RUN_DECISION_DENIED = AuditAction(
    "run.decision_denied",
    "A decision on a waiting step was refused: the person or chat may not decide, or the button is invalid.",
    (RUN, OUTCOME, REASON),
    (_KIND, _STEP, ACTOR),
)


class NotRetriedError(TocsinError):
    """The run cannot be retried."""

    code = "invalid-transition"


@dataclass(frozen=True, slots=True)
class Retry:
    """The run to execute again; for a workflow, optionally from a step on, with the outputs of the other steps."""

    run: Run
    from_step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StartRequest:
    """A request to start something that a feature owns; `source` is the source of its audit entry."""

    source: str
    cause: str
    actor: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    offers: Mapping[str, Any] = field(default_factory=dict)  # parameters that are used only if declared
    parent_run_id: str | None = None
    retry: Retry | None = None  # an earlier run to repeat unchanged; see `as_retry`
    run_id: str = ""  # of the new run, so that its requester finds it after a crash; empty: any


class StartRun(Protocol):
    """Starts something that a feature owns, such as a workflow, by kind and name."""

    async def __call__(self, kind: str, subject: str, request: StartRequest, /) -> ActiveRun:
        """Return the run as soon as it is recorded; raises TocsinError if it cannot be started."""


def as_retry(order: RunSpec, retry: Retry | None) -> RunSpec:
    """Return `order` as a retry, or unchanged if `retry` is `None`."""
    if retry is None:
        return order
    earlier = retry.run
    attempt = earlier.attempt + 1
    return replace(
        order,
        trigger=RunTrigger.RETRY,
        retry_of=earlier.id,
        attempt=attempt,
        max_attempts=max(attempt, earlier.max_attempts),
        scheduled_for=earlier.scheduled_for,
    )


class RunControl:
    """The operations that people may perform on the runs of all processes that share the data directory."""

    def __init__(self, runs: Runs, audit: AuditTrail, clock: Clock, start_run: StartRun) -> None:
        self._runs = runs
        self._audit = audit
        self._clock = clock
        self._start_run = start_run

    async def cancel(self, run_id: str, caller: Caller, reason: str = "", grace_s: float = GRACE_S) -> Run:
        """Request the end of a run, and return its current record; it is killed after `grace_s`.

        Raises UnknownRunError, AmbiguousIdError, RunEndedError.
        """
        run = await self._runs.cancel(await self._runs.whole_id(run_id), reason, min(grace_s, MAX_GRACE_S))
        facts = {"status": str(run.status), **({"reason": reason} if reason else {})}
        self._record(RUN_CANCEL, run, caller, f"{run.subject_name} {run.status}", facts)
        return run

    async def decide(
        self, run_id: str, caller: Caller, *, approved: bool, step: str = "", comment: str = ""
    ) -> Decision:
        """Approve or reject a waiting step; if `step` is empty, the only one.

        Raises UnknownRunError, AmbiguousIdError, NotWaitingError, NotApproverError.
        """
        run = await self._runs.get(await self._runs.whole_id(run_id))
        if caller.actor is None and caller.source != CLI.name:  # only the operator of this machine is anonymous
            raise NotApproverError("the person who decides must be known", hint="sign in")
        return await self._decide(
            run, Decision(run.id, step, approved, caller.actor, self._clock.now(), comment), caller
        )

    async def press(self, press: ButtonPress, chat_id: str, caller: Caller, *, approved: bool) -> Decision:
        """Approve or reject the step to which a button pressed in a chat belongs.

        Raises UnknownQuestionError, NotApproverError.
        """
        try:
            waiting = await self._runs.asked(press.question)
        except UnknownQuestionError as error:
            self._record_denied(None, caller, error, {})
            raise
        run, step = await self._runs.get(waiting.run_id), waiting.question.step
        decision = Decision(run.id, step, approved, f"{CHAT}{chat_id}", self._clock.now())
        return await self._decide(run, decision, caller, press)

    async def press_in_notice(self, run_id: str, step: str, sender: str, caller: Caller, *, approved: bool) -> Decision:
        """Approve or reject a waiting step by a button of its notice; `sender` is the ID of the person.

        Raises UnknownRunError, UnknownQuestionError, NotApproverError.
        """
        waiting = await self._runs.waiting(run_id)
        question = next((each.question for each in waiting if each.question.step == step), None)
        if question is None:
            raise UnknownQuestionError(f"step {step} is no longer waiting")
        decision = Decision(run_id, step, approved, f"{CHAT}{sender}", self._clock.now())
        press = ButtonPress(question.id, "", sender, in_notice=True)
        return await self._decide(await self._runs.get(run_id), decision, caller, press)

    async def _decide(self, run: Run, wanted: Decision, caller: Caller, press: ButtonPress | None = None) -> Decision:
        try:
            made = await self._runs.decide(wanted, press)
        except (NotApproverError, UnknownQuestionError) as error:
            self._record_denied(run, caller, error, {"step": wanted.step} if wanted.step else {})
            raise
        action, done = (RUN_APPROVE, "approved") if made.approved else (RUN_REJECT, "rejected")
        facts = {"step": made.step, **({"comment": made.comment} if made.comment else {})}
        self._record(action, run, caller, f"{run.subject_name}: step {made.step} {done}", facts)
        return made

    async def retry(self, run_id: str, caller: Caller, from_step: str = "") -> ActiveRun:
        """Retry a run that has ended; the feature that owns it writes the audit entry.

        Raises UnknownRunError, AmbiguousIdError, NotRetriedError, AbilityMissingError, and the errors of the feature.
        """
        run = await self._runs.get(await self._runs.whole_id(run_id))
        if run.status not in TERMINAL:
            raise NotRetriedError(f"run {run.id} is {run.status}", hint="wait until it has ended, or cancel it")
        if from_step and from_step not in {step.name for step in run.steps}:
            named = ", ".join(step.name for step in run.steps)
            hint = f"its steps are: {named}" if named else "only a run with steps can be retried from a step"
            raise NotRetriedError(f"run {run.id} has no step {from_step}", hint=hint)
        request = StartRequest(
            source=caller.source,
            cause=RunTrigger.RETRY,
            actor=caller.actor,
            params=run.params,
            parent_run_id=run.parent_run_id,
            retry=Retry(run, from_step),
        )
        return await self._start_run(run.kind, run.subject_id, request)

    def _record(self, action: AuditAction, run: Run, caller: Caller, detail: str, facts: Mapping[str, object]) -> None:
        told = {"run": run.id, "run_kind": str(run.kind), **facts, **caller.facts}
        self._audit.record(action, detail, source=caller.source, metadata=told)

    def _record_denied(self, run: Run | None, caller: Caller, error: TocsinError, facts: Mapping[str, object]) -> None:
        detail = f"{run.subject_name}: a decision was refused" if run else "a decision without a question was refused"
        of_run = {"run": run.id, "run_kind": str(run.kind)} if run else {"run": None}
        told = {**of_run, "outcome": "denied", "reason": str(error), **facts, **caller.facts}
        self._audit.record(RUN_DECISION_DENIED, detail, source=caller.source, metadata=told)
