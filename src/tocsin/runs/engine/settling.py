"""Settle ended runs in any process: message, retry, audit entry and notice, each exactly once."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.core.tracing.spans import span, stored_traceparent
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.output_routing import OutputRouter
from tocsin.runs.engine.run_type import RunAuditEntry, RunType, message_key
from tocsin.runs.model import OutputDelivery, OutputResult, Run
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import OWNERS_S, RunTask, StoredRun, UnknownRunError

log = logging.getLogger(__name__)

_AT_ONCE = 200
_CLOCKS_DIFFER_S = 60.0

TypeOf = Callable[[str, Mapping[str, Any]], RunType | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SettlerDependencies:
    """The dependencies of settling; `output` is called when the first message is sent."""

    store: RunStore
    output: Callable[[], OutputRouter]
    audit: AuditTrail
    clock: Clock
    type_of: TypeOf


class RunSettler:
    """Settles ended runs.

    The message is enqueued under the ID of the run, so a second attempt enqueues nothing, and the feature updates its
    tables once per run (`note_once`). One step of the store then records the message and enqueues the retry. The audit
    entry and the notice follow. The task of the run is deleted last: a process that finds it earlier repeats only the
    missing steps.
    """

    def __init__(self, parts: SettlerDependencies) -> None:
        self._parts = parts
        self._store = parts.store
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._failed: set[str] = set()  # runs whose type raised an unexpected error; they must not block other runs

    def type_of(self, kind: str, params: Mapping[str, Any]) -> RunType | None:
        """Return the type of a run; `None` if no feature defines it."""
        return self._parts.type_of(kind, params)

    async def settle(self, run: Run) -> Run:
        """Settle an ended run unless that is done, and return its latest record.

        Raises StoreUnavailableError.
        """
        lock = self._locks.setdefault(run.id, asyncio.Lock())
        async with lock:
            await self._settle(run)
        try:
            return await self._store.get(run.id)
        except UnknownRunError:  # deleted with its subject
            return run

    async def _settle(self, run: Run) -> None:
        run_type = self._parts.type_of(run.kind, run.params)
        task = await self._store.task_of(run.id)
        now = self._parts.clock.now()
        if run_type is None or task is None or (task.noted_at is not None and 0 <= now - task.noted_at < OWNERS_S):
            return  # the run is settled, or another process is settling it
        noted = task.noted
        if noted is None:
            parent = stored_traceparent(task.request)
            with span("settle run", parent=parent, kind=run.kind, run=run.id):
                noted = await self._note(run, run_type, task)
        if noted is not None:
            entry = run_type.entry(run, task.request, noted)
            self._record(run, entry, task, run_type.source, again=task.noted is not None)
            await run_type.tell(run, noted)
            await self._store.remove_task(run.id)

    async def settle_left(self) -> None:
        """Settle the ended runs that no process has settled. Raises TocsinError."""
        now = self._parts.clock.now()
        left = await self._store.unsettled(now, _AT_ONCE)
        for run in [run for run in left if run.id not in self._failed]:
            try:
                await self.settle(run)
            except TocsinError:
                raise
            except Exception:  # the error may come from a plug-in's type
                self._failed.add(run.id)
                log.exception(
                    "the message, retry, notice or audit entry of a run could not be written", extra={"run": run.id}
                )

    async def _note(self, run: Run, run_type: RunType, task: RunTask) -> Mapping[str, Any] | None:
        """Enqueue the message and record all results; `None` if another process did."""
        again = run_type.retry(run, self._parts.clock.now())
        message = None if again else await run_type.message(run, task.request)
        delivery = OutputDelivery()
        if message:
            caller = Caller(message.source, {"run": run.id})
            queued = await self._parts.output().queue(
                message.destination, message.text, caller, message_key(run), content=message.content
            )
            delivery = OutputDelivery.begun(queued.refused, queued.deliveries)

        noted = (
            {} if again else await run_type.note(run, message.destination if message and delivery.is_complete else "")
        )
        follower = None
        if again:  # it runs where the failed one did, whichever host settles that
            follower = StoredRun(replace(again.run, home=run.home), task=RunTask(not_before=again.not_before))
        is_first = await self._store.settle(run.id, noted, delivery, follower, self._parts.clock.now())
        return noted if is_first else None

    def _record(self, run: Run, entry: RunAuditEntry | None, task: RunTask, source: str, *, again: bool) -> None:
        if entry is None or (again and self._is_recorded(run, entry)):
            return
        facts = {**task.caller, **entry.facts}
        self._parts.audit.record(entry.action, entry.detail, source=run.source or source, metadata=facts)

    def _is_recorded(self, run: Run, entry: RunAuditEntry) -> bool:
        ended_at = (run.finished_at or run.queued_at) - _CLOCKS_DIFFER_S
        for found in self._parts.audit.log.newest():
            if parse_timestamp(found.ts) < ended_at:
                return False
            if found.action == entry.action.name and found.metadata.get("run") == run.id:
                return True
        return False


class DeliveryFollower:
    """Records the outcomes of the messages with the output of runs."""

    def __init__(self, store: RunStore, output: Callable[[], OutputRouter]) -> None:
        self._store = store
        self._output = output

    async def follow(self, *, unsent: bool = False) -> None:
        """Check messages that have not ended or, with `unsent`, those that failed and may have been sent again."""
        for run in await (self._store.unsent() if unsent else self._store.undelivered()):
            delivery = await self._followed(run.delivery)
            if delivery != run.delivery:
                await self._store.set_delivery(run.id, delivery)

    async def _followed(self, delivery: OutputDelivery) -> OutputDelivery:
        outcome_of, results, left = self._output().outcome, list[OutputResult](), list[str]()
        for before in delivery.results:
            sent = before.result.ok or not before.delivery_id
            now = before.result if sent else await outcome_of(before.delivery_id)
            if now is None:
                left.append(before.delivery_id)
            else:  # the first reason is kept, even if the delivery was deleted since
                results.append(OutputResult(now, before.delivery_id) if now.ok else before)
        for id_ in delivery.queued:
            ended = await outcome_of(id_)
            if ended is None:
                left.append(id_)
            else:
                results.append(OutputResult(ended, id_))
        return OutputDelivery.of(results, left)
