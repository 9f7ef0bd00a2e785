"""The stored data of a run, and its changes of state, which are the same in every store."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.core.errors import ConflictError, NotFoundError, TocsinError
from tocsin.runs.approvals import (
    ButtonPress,
    Decision,
    NotWaitingError,
    StepQuestion,
    UnknownQuestionError,
    WaitingStep,
    refuse_others,
)
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    HostResult,
    HostStatus,
    Run,
    RunOutput,
    RunResult,
    RunStatus,
    StepRun,
)

OWNERS_S = 5.0  # seconds during which only the process that ran it settles a run


class UnknownRunError(NotFoundError):
    """No run has this ID, or it was deleted."""


class InstantRecordedError(ConflictError):
    """The scheduled instant of this subject has already been recorded."""


class RunExistsError(ConflictError):
    """A run with this ID is already recorded."""


class RunEndedError(TocsinError):
    """The run has ended and cannot be changed."""

    code = "invalid-transition"


def unknown_run(text: str) -> UnknownRunError:
    return UnknownRunError(f"unknown run: {text[:60]}", hint="`tocsin runs list` shows the runs")


def instant_taken_error(run: Run) -> InstantRecordedError:
    return InstantRecordedError(f"{run.subject_name}: a run for this time is already recorded")


@dataclass(frozen=True, slots=True)
class RunTask:
    """The private data of a run that is not settled."""

    request: Mapping[str, Any] = field(default_factory=dict)  # the data from which its work is recreated
    caller: Mapping[str, object] = field(default_factory=dict)  # facts about the caller, for the audit entry
    not_before: float | None = None  # earliest start of a queued run
    noted: Mapping[str, Any] | None = None  # set once the run is settled, until the operator has been notified
    noted_at: float | None = None


@dataclass(frozen=True, slots=True)
class StepWait:
    """A question of a step, and the decision if there is one."""

    question: StepQuestion
    since: float
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with its private data. A reader may omit steps and hosts."""

    run: Run
    owner: str = ""  # the process that executes it; empty: any process may continue it
    child: str = ""  # the identity of the child process that does the work
    cancel_reason: str = ""
    cancel_grace_s: float = 0.0
    task: RunTask | None = None  # None: the run is settled
    waits: tuple[StepWait, ...] = ()

    @property
    def open_waits(self) -> list[StepWait]:
        """The questions without a decision, the longest-waiting first."""
        return sorted((wait for wait in self.waits if wait.decision is None), key=lambda w: (w.since, w.question.step))

    def waiting(self) -> list[WaitingStep]:
        """Return the steps that wait for a decision, the longest-waiting first."""
        return [WaitingStep(self.run.id, wait.question, wait.since) for wait in self.open_waits]

    def needs_settling(self, now: float) -> bool:
        """Whether any process may settle this run now.

        For a few seconds only its own process may, except for runs that never started or whose process died.
        """
        task, run = self.task, self.run
        if task is None or run.finished_at is None or _is_recent(task.noted_at, now):
            return False
        return run.started_at is None or run.status is RunStatus.INTERRUPTED or not _is_recent(run.finished_at, now)


def _is_recent(moment: float | None, now: float) -> bool:
    return moment is not None and now - OWNERS_S <= moment <= now


def begin(record: StoredRun, owner: str, now: float) -> StoredRun:
    return replace(record, owner=owner, run=replace(record.run, status=RunStatus.RUNNING, started_at=now))


def release(record: StoredRun, owner: str) -> StoredRun:
    """Release an active run of `owner`, so that any process may continue it."""
    is_held = record.owner == owner and record.run.status in ACTIVE
    return replace(record, owner="", child="") if is_held else record


def finish(record: StoredRun, ended: RunResult, output: RunOutput, now: float) -> StoredRun:
    """End an active run; a run being cancelled becomes cancelled, and unfinished steps and hosts end with it."""
    run = record.run
    if run.status not in ACTIVE:
        return record
    is_cancelled = run.status is RunStatus.CANCELLING
    status = RunStatus.CANCELLED if is_cancelled else ended.status
    if status not in TERMINAL:
        raise AssertionError(f"{status} does not end a run")
    after = replace(
        run,
        status=status,
        reason=(record.cancel_reason or "the run was cancelled") if is_cancelled else ended.reason,
        exit_code=ended.exit_code,
        signal=ended.signal,
        error=None if is_cancelled else ended.error,
        output=output,
        finished_at=now,
        steps=tuple(_ended_step(step, status, now) for step in run.steps),
        hosts=tuple(_ended_host(host, status) for host in run.hosts),
    )
    return replace(record, run=after, waits=())


def cancel(record: StoredRun, reason: str, grace_s: float, now: float) -> StoredRun:
    """Request the end of a run; a queued one ends immediately. Raises RunEndedError."""
    status = record.run.status
    if status in TERMINAL:
        raise RunEndedError(f"the run {record.run.id} has ended: {status}", hint="start it again")
    if status is RunStatus.QUEUED:
        return finish(record, RunResult(RunStatus.CANCELLED, reason or None), RunOutput(), now)
    if status is RunStatus.CANCELLING:
        return record
    cancelling = replace(record.run, status=RunStatus.CANCELLING)
    return replace(record, run=cancelling, cancel_reason=reason, cancel_grace_s=grace_s)


def amend(record: StoredRun, changes: Mapping[str, Any]) -> StoredRun:
    """Change fields of the request of a run that is not settled; mappings are merged."""
    if record.task is None:
        return record
    request = dict(record.task.request)
    for name, value in changes.items():
        before = request.get(name)
        request[name] = {**before, **value} if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return replace(record, task=replace(record.task, request=request))


def ask(record: StoredRun, waiting: WaitingStep) -> StoredRun:
    """Add a question, replacing an earlier one of the same step; a running run becomes `waiting`."""
    if record.run.status not in ACTIVE:
        return record
    others = tuple(wait for wait in record.waits if wait.question.step != waiting.question.step)
    waits = (*others, StepWait(waiting.question, waiting.since))
    status = RunStatus.WAITING if record.run.status is RunStatus.RUNNING else record.run.status
    return replace(record, waits=waits, run=replace(record.run, status=status))


def withdraw(record: StoredRun, step: str) -> StoredRun:
    waits = tuple(wait for wait in record.waits if wait.question.step != step)
    return _going_on(replace(record, waits=waits))


def decide(record: StoredRun, decision: Decision, press: ButtonPress | None) -> tuple[StoredRun, Decision]:
    """Record a decision; return it with the name of its step. Raises NotWaitingError, NotApproverError."""
    wait = _meant(record, decision.step, press)
    refuse_others(wait.question, record.run.actor, decision.by, press)
    made = replace(decision, run_id=record.run.id, step=wait.question.step)
    waits = tuple(replace(each, decision=made) if each is wait else each for each in record.waits)
    return _going_on(replace(record, waits=waits)), made


def asked_with(record: StoredRun, question: str) -> StepWait:
    """Return the step that waits for an answer to a question; raises UnknownQuestionError."""
    for wait in record.open_waits:
        if question and wait.question.id == question:
            return wait
    raise unknown_question()


def unknown_question() -> UnknownQuestionError:
    return UnknownQuestionError("no waiting step has this question")


def _going_on(record: StoredRun) -> StoredRun:
    if record.run.status is not RunStatus.WAITING or record.open_waits:
        return record
    return replace(record, run=replace(record.run, status=RunStatus.RUNNING))


def _meant(record: StoredRun, step: str, press: ButtonPress | None) -> StepWait:
    """Return the waiting step to which a decision applies."""
    run, waits = record.run, record.open_waits
    if press:
        return asked_with(record, press.question)
    if run.status in TERMINAL:
        raise NotWaitingError(f"the run {run.id} has ended: {run.status}", hint="start it again")
    found = [each for each in waits if step in {"", each.question.step}]
    named = ", ".join(each.question.step for each in waits)
    if len(found) > 1:
        raise NotWaitingError(f"several steps are waiting: {named}", hint="choose one with --step")
    if not found:
        what = f"the step {step} does not wait" if step else "no step of the run is waiting"
        raise NotWaitingError(
            f"{what} for a decision", hint=f"waiting steps: {named}" if named else "see the record of the run"
        )
    return found[0]


_SENTENCES = {
    RunStatus.INTERRUPTED: "Tocsin was killed or crashed during the run",
    RunStatus.CANCELLED: "the run was cancelled",
    RunStatus.TIMED_OUT: "the run timed out",
}


def _ended_step(step: StepRun, status: RunStatus, now: float) -> StepRun:
    if step.status not in ACTIVE:
        return step
    if step.status is RunStatus.QUEUED:
        return replace(step, status=RunStatus.SKIPPED)
    ended = status if status in _SENTENCES else RunStatus.FAILED
    sentence = _SENTENCES.get(ended, "the run ended first")
    return replace(step, status=ended, finished_at=now, error={"code": str(ended), "message": sentence})


def _ended_host(host: HostResult, status: RunStatus) -> HostResult:
    if host.status not in {HostStatus.QUEUED, HostStatus.RUNNING}:
        return host
    if host.status is HostStatus.QUEUED:
        return replace(host, status=HostStatus.SKIPPED)
    ended = {RunStatus.CANCELLED: HostStatus.CANCELLED, RunStatus.TIMED_OUT: HostStatus.TIMED_OUT}
    sentence = _SENTENCES.get(status, "the run ended first")
    return replace(host, status=ended.get(status, HostStatus.FAILED), error=sentence)
