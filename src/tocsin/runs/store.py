"""The store of runs: every change of state is atomic, and an ended run never changes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from tocsin.core.pages import ListPage
from tocsin.runs import stored_run as change
from tocsin.runs.approvals import ButtonPress, Decision, WaitingStep
from tocsin.runs.engine import admission
from tocsin.runs.engine.admission import PolicyOf, QueueStep
from tocsin.runs.engine.overlap import Admission, OverlapRules
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    HostResult,
    OutputDelivery,
    OutputDeliveryStatus,
    Run,
    RunOutput,
    RunResult,
    RunStatus,
    StepRun,
)
from tocsin.runs.records import RunRecords
from tocsin.runs.stored_run import RunTask, StepWait, StoredRun, UnknownRunError

MAX_PAGE = 200
_MAX_UNSENT = 50


class ClaimedRun(NamedTuple):
    """A run that this process continues, and the request from which its work is recreated."""

    run: Run
    request: Mapping[str, Any]
    was_at: str = ""  # the data directory in which it ran before, in a store that hosts share


class LeftRuns(NamedTuple):
    """The runs that any process may begin or continue."""

    at_work: list[str]  # the IDs of those that have begun, the oldest first
    queued_kinds: list[str]


class RunStore:
    """The runs of all processes that share a store."""

    def __init__(self, records: RunRecords) -> None:
        self.records = records
        self.home = records.home
        self.approvals = Approvals(records)

    async def add(self, run: Run, owner: str, task: RunTask | None = None) -> None:
        """Record a new run, its owner and its settling task; raises InstantRecordedError."""
        await self.records.add(StoredRun(run, owner, task=task))

    async def enqueue(self, runs: Sequence[Run], not_before: float | None = None) -> list[Run]:
        """Record runs that are queued or ended without starting; omit those whose instant was already executed."""
        task = RunTask(not_before=not_before)
        return await self.records.enqueue(
            [StoredRun(run, task=task if run.status is RunStatus.QUEUED else None) for run in runs]
        )

    async def admit(
        self, run: Run, owner: str, task: RunTask | None, rules: OverlapRules, *, may_wait: bool
    ) -> Admission:
        """Record a new run as running, or as queued if it has to wait and may, or not at all, as `rules` say."""
        record = StoredRun(run, owner, task=task)
        return await self.records.decide(
            run.kind, lambda queue: admission.record_admitted(queue, record, rules, may_wait=may_wait)
        )

    async def admission(self, run: Run, rules: OverlapRules) -> Admission:
        """Return what `admit` would decide about a run that may wait."""
        return await self.records.look(
            run.kind, lambda queue: admission.find_admission(queue, run, rules, may_wait=True)
        )

    async def begin_queued(
        self, kind: str, owner: str, now: float, policy_of: PolicyOf, *, only_own: bool = False
    ) -> QueueStep:
        """Let the queued runs of a kind whose turn it is begin with `owner`, or end; see `decide`.

        With `only_own`, those begin that `owner` has queued; otherwise also those without an owner.
        """
        owners = (owner,) if only_own else ("", owner)
        # Most looks find nothing to do: they must not hold up those who write.
        if not (
            await self.records.look(kind, lambda queue: admission.look(queue, owners, now, policy_of))
        ).changes_runs:
            return QueueStep([], [], [])
        return await self.records.decide(
            kind, lambda queue: admission.begin_queued(queue, owner, owners, now, policy_of)
        )

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return (await self.records.get(run_id)).run

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these IDs that exist, without steps and hosts."""
        return await self.records.several(run_ids)

    async def search(self, query: RunFilter) -> ListPage[Run]:
        """Return the newest matching runs, or the oldest; does not create the database."""
        limit = max(1, min(query.limit, MAX_PAGE))
        found = await self.records.search(replace(query, limit=limit + 1))
        more = len(found) > limit
        return ListPage(tuple(found[:limit]), found[limit - 1].id if more else None)

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` IDs that it may abbreviate."""
        return await self.records.matching(texts, limit)

    async def count(self, query: RunFilter) -> int:
        """Return the number of matching runs; does not create the database."""
        return (await self.counts(query))[0]

    async def counts(self, *queries: RunFilter) -> list[int]:
        """Return the number of runs that match each query, all at one moment; does not create the database."""
        return await self.records.counts(queries)

    async def newest(self, kind: str, subject: str, limit: int, before: str = "") -> list[Run]:
        """Return the newest ended runs of a subject that had started; with `before`, only those older than that run."""
        query = RunFilter(kind, subject, tuple(TERMINAL), limit, before, has_begun=True)
        return await self.records.search(query)

    async def last_before(self, run: Run) -> Run | None:
        """Return the newest earlier run of the same subject that was executed and not cancelled."""
        ended = tuple(TERMINAL - {RunStatus.CANCELLED})
        query = RunFilter(run.kind, run.subject_id, ended, 1, run.id, has_begun=True)
        return next(iter(await self.records.search(query)), None)

    async def set_child(self, run_id: str, child: str) -> None:
        """Record the identity of the child process that does the work."""
        with suppress(UnknownRunError):  # it was deleted with its subject
            await self.records.change(run_id, lambda record: replace(record, child=child))

    async def release(self, run_id: str, owner: str) -> Run:
        """Release an active run of `owner`, so that any process may continue it."""
        return (await self.records.change(run_id, lambda record: change.release(record, owner), parts=True)).run

    async def left(self) -> LeftRuns:
        """Return the active runs that no process owns."""
        found = await self.records.released()
        at_work = [each.id for each in found if each.status in {RunStatus.RUNNING, RunStatus.WAITING}]
        return LeftRuns(at_work, sorted({each.kind for each in found if each.status == RunStatus.QUEUED}))

    async def at_work_of(self, owner: str) -> list[str]:
        """Return the IDs of the runs that have begun with `owner`."""
        at_work = await self.records.active([RunStatus.RUNNING, RunStatus.WAITING])
        return [each.run.id for each in at_work if each.owner == owner]

    async def queued_elsewhere(self) -> list[Run]:
        """Return the queued runs that wait for a process of another data directory."""
        queued = await self.records.active([RunStatus.QUEUED])
        return [each.run for each in queued if not each.owner and each.run.home not in {"", self.home}]

    async def adopt(self, run_id: str) -> None:
        """Allow any data directory to start a queued run."""

        def edit(record: StoredRun) -> StoredRun:
            waits = record.run.status is RunStatus.QUEUED and not record.owner
            return replace(record, run=replace(record.run, home="")) if waits else record

        await self.records.change(run_id, edit)

    async def request_of(self, run_id: str) -> Mapping[str, Any]:
        """Return the request from which the work of a run is recreated; empty if the run is settled."""
        task = await self.task_of(run_id)
        return task.request if task else {}

    async def task_of(self, run_id: str) -> RunTask | None:
        """Return the task of a run; `None` if the run is settled or was deleted."""
        try:
            return (await self.records.get(run_id)).task
        except UnknownRunError:
            return None

    async def claim(self, run_id: str, owner: str) -> ClaimedRun | None:
        """Make `owner` the owner of a released run; `None` if another process was first."""
        was_at = ""

        def edit(record: StoredRun) -> StoredRun:
            nonlocal was_at
            if record.owner or record.task is None or record.run.status not in ACTIVE:
                raise _NotTakenError
            was_at = record.run.home
            return replace(record, owner=owner)

        try:
            taken = await self.records.change(run_id, edit, parts=True)
        except (_NotTakenError, UnknownRunError):
            return None
        return ClaimedRun(taken.run, taken.task.request if taken.task else {}, was_at)

    async def amend_request(self, run_id: str, changes: Mapping[str, Any]) -> None:
        """Change fields of the request of an active run."""
        with suppress(UnknownRunError):  # it was deleted with its subject
            await self.records.change(run_id, lambda record: change.amend(record, changes))

    async def save_steps(self, run_id: str, steps: Sequence[StepRun]) -> None:
        """Record steps of an active run; does nothing if the run has ended."""
        await self.records.save_parts(run_id, steps)

    async def save_hosts(self, run_id: str, hosts: Sequence[HostResult]) -> None:
        """Record the results of an active run on hosts; does nothing if the run has ended."""
        await self.records.save_parts(run_id, hosts)

    async def set_delivery(self, run_id: str, delivery: OutputDelivery) -> Run:
        """Record the state of a run's output messages, the only change allowed after its end."""
        return (await self.records.change(run_id, lambda record: _delivering(record, delivery), parts=True)).run

    async def undelivered(self) -> list[Run]:
        """Return up to 200 runs with output messages that have not ended, the oldest first."""
        return await self.records.delivering([OutputDeliveryStatus.PENDING], MAX_PAGE, newest=False)

    async def unsent(self) -> list[Run]:
        """Return the newest 50 runs with output messages that failed; an operator may send them again."""
        unsent = [OutputDeliveryStatus.FAILED, OutputDeliveryStatus.PARTIAL]
        return await self.records.delivering(unsent, _MAX_UNSENT, newest=True)

    async def finish(self, run_id: str, result: RunResult, output: RunOutput, now: float) -> Run:
        """Record the end of a run; a run being cancelled becomes cancelled, and an ended one stays unchanged."""
        after = await self.records.change(run_id, lambda r: change.finish(r, result, output, now), parts=True)
        return after.run

    async def request_cancel(self, run_id: str, reason: str, grace_s: float, now: float) -> Run:
        """Request the end of a run; a queued one ends immediately.

        Raises UnknownRunError, and RunEndedError if it has already ended.
        """
        after = await self.records.change(run_id, lambda r: change.cancel(r, reason, grace_s, now), parts=True)
        return after.run

    async def cancelling(self, run_ids: Collection[str]) -> list[StoredRun]:
        """Return those of these runs that someone asked to cancel."""
        return [each for each in await self.records.active([RunStatus.CANCELLING]) if each.run.id in run_ids]

    async def unsettled(self, now: float, limit: int) -> list[Run]:
        """Return the ended runs that any process may settle now, the oldest first."""
        left = [record.run.id for record in await self.records.unsettled() if record.needs_settling(now)]
        return [await self.get(run_id) for run_id in left[:limit]]

    async def settle(
        self, run_id: str, noted: Mapping[str, Any], delivery: OutputDelivery, again: StoredRun | None, now: float
    ) -> bool:
        """Record that a run is settled, with its messages and its retry `again`; return False if it already was.

        `noted` contains the data for notifying the operator.
        """

        def edit(record: StoredRun) -> StoredRun:
            if record.task is None or record.task.noted is not None:
                raise _NotTakenError
            return _delivering(replace(record, task=replace(record.task, noted=noted, noted_at=now)), delivery)

        try:
            await self.records.change(run_id, edit, also=again)
        except (_NotTakenError, UnknownRunError):
            return False
        return True

    async def remove_task(self, run_id: str) -> None:
        """Delete the task of a run, because settling it is complete."""
        with suppress(UnknownRunError):  # it was deleted with its subject
            await self.records.change(run_id, lambda record: replace(record, task=None))

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int = 0) -> list[Run]:
        """Delete runs that ended long ago, and all but the newest `keep` of each subject; return them.

        Failed runs are counted separately: the newest `keep_failed` of each subject are kept, or `keep` if that is
        more. The history limit of a subject's newest run applies to all of its runs. A run with pending messages is
        kept.
        """
        return await self.records.prune(now, keep_days, keep, keep_failed)

    async def forget(self, kind: str, subject: str) -> list[Run]:
        """Delete the ended runs of a subject; return them."""
        forgotten: list[Run] = []
        query = RunFilter(kind, subject, tuple(TERMINAL), MAX_PAGE)
        while found := await self.records.search(query):
            await self.records.remove([run.id for run in found])
            forgotten += found
        return forgotten


class Approvals:
    """The waiting steps of all runs."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records

    async def wait_for(self, waiting: WaitingStep) -> None:
        """Record that a step waits; its run becomes `waiting`, unless it is being cancelled."""
        await self._records.change(waiting.run_id, lambda record: change.ask(record, waiting))

    async def present(self, run_id: str, step: str) -> StepWait | None:
        """Return a step's question that an earlier process asked, with the decision if there is one."""
        waits = (await self._records.get(run_id)).waits
        return next((wait for wait in waits if wait.question.step == step), None)

    async def withdraw(self, run_id: str, step: str) -> None:
        """Remove the question of a step that waits no longer."""
        with suppress(UnknownRunError):  # it was deleted with its subject
            await self._records.change(run_id, lambda record: change.withdraw(record, step))

    async def waiting(self, run_id: str) -> list[WaitingStep]:
        """Return the waiting steps of a run, the longest-waiting first."""
        try:
            return (await self._records.get(run_id)).waiting()
        except UnknownRunError:
            return []

    async def decide(self, decision: Decision, press: ButtonPress | None = None) -> Decision:
        """Record a decision about the named step, the step of the pressed button, or else the only waiting step.

        Raises UnknownRunError, NotWaitingError, NotApproverError.
        """
        made = decision
        run_id = await self._records.asked(press.question) if press else decision.run_id

        def edit(record: StoredRun) -> StoredRun:
            nonlocal made
            after, made = change.decide(record, decision, press)
            return after

        await self._records.change(run_id, edit)
        return made

    async def asked(self, question: str) -> WaitingStep:
        """Return the step that waits for an answer to a question; raises UnknownQuestionError."""
        record = await self._records.get(await self._records.asked(question))
        wait = change.asked_with(record, question)
        return WaitingStep(record.run.id, wait.question, wait.since)

    async def decisions(self, run_ids: Collection[str]) -> list[Decision]:
        """Return the decisions about these runs whose questions were not withdrawn."""
        decisions: list[Decision] = []
        for run_id in run_ids:
            with suppress(UnknownRunError):  # it was deleted with its subject
                waits = (await self._records.get(run_id)).waits
                decisions += [wait.decision for wait in waits if wait.decision]
        return decisions


class _NotTakenError(Exception):
    """Aborts a change, because another process was first."""


def _delivering(record: StoredRun, delivery: OutputDelivery) -> StoredRun:
    return replace(record, run=replace(record.run, delivery=delivery))
