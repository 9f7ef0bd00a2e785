"""Admit, queue, begin and continue runs in this process, in the turn of their subject."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.tasks import to_the_end
from tocsin.runs.engine.active_run import ActiveRun, PendingRun
from tocsin.runs.engine.admission import REPLACED
from tocsin.runs.engine.executor import RunExecutor, traced
from tocsin.runs.engine.overlap import Admission, OverlapError, OverlapRules, StartPolicy
from tocsin.runs.engine.recovery import WAS_LEFT, interrupted
from tocsin.runs.log_file import read_lines, summarise
from tocsin.runs.model import LOG_MAX_BYTES, TERMINAL, WAITER_ENDED, Line, Run, RunSpec, RunStatus, new_run
from tocsin.runs.queue import QueuedRow
from tocsin.runs.recorder import Work
from tocsin.runs.store import ClaimedRun
from tocsin.runs.stored_run import RunEndedError, UnknownRunError

log = logging.getLogger(__name__)

TURN_S = 0.2  # how often a queued run of this process looks whether it is its turn


class _NotStartedError(Exception):
    def __init__(self, admission: Admission) -> None:
        super().__init__()
        self.admission = admission


class QueueingExecutor(RunExecutor):
    """The part of `Runs` that decides when they begin."""

    async def admit(
        self, spec: RunSpec, work: Work, rules: OverlapRules, *, watch: Callable[[Line], None] | None = None
    ) -> ActiveRun:
        """Start a run now if `rules` allow it beside those of its subject.

        Raises OverlapError, StoreUnavailableError, without starting the work.
        """
        begun = await self._admit(spec, work, rules, watch, may_wait=False)
        assert isinstance(begun, ActiveRun)  # noqa: S101  # it may not wait
        return begun

    async def admit_or_queue(
        self, spec: RunSpec, work: Work, rules: OverlapRules, *, watch: Callable[[Line], None] | None = None
    ) -> ActiveRun | PendingRun:
        """Start a run, or queue it until no earlier one of its subject is due or active. Raises like `admit`.

        If `rules` say that it replaces earlier ones, these are cancelled.
        """
        return await self._admit(spec, work, rules, watch, may_wait=True)

    async def check_admission(self, spec: RunSpec, rules: OverlapRules) -> None:
        """Raise OverlapError if `admit_or_queue` would."""
        found = await self.store.admission(new_run(spec, RunStatus.QUEUED, self._clock.now()), rules)
        if found.reason:
            raise OverlapError(found.reason)

    async def _admit(
        self,
        spec: RunSpec,
        work: Work,
        rules: OverlapRules,
        watch: Callable[[Line], None] | None,
        *,
        may_wait: bool,
    ) -> ActiveRun | PendingRun:
        spec = traced(spec)
        run, task = new_run(spec, RunStatus.RUNNING, self._clock.now()), self._task_of(spec)
        superseded: tuple[str, ...] = ()

        async def enter() -> Run:
            nonlocal superseded
            with self._ended_if_unconfirmed(run):
                admission = await self.store.admit(run, self.owner, task, rules, may_wait=may_wait)
            superseded = admission.supersedes
            if not admission.start:
                raise _NotStartedError(admission)
            return run

        begun: ActiveRun | PendingRun
        try:
            begun = await self._launch(self._prepare(run, spec.log_max_bytes, watch, spec.request), work, enter)
        except _NotStartedError as error:
            if error.admission.reason:
                raise OverlapError(error.admission.reason) from None
            queued = replace(run, status=RunStatus.QUEUED, started_at=None)
            begun = self._pend(PendingRun(queued, spec, work, watch))
            await self._replace(error.admission.replaces)
        except asyncio.CancelledError:
            with suppress(UnknownRunError, RunEndedError):  # it may be queued by now
                await to_the_end(self.cancel(run.id, WAITER_ENDED))
            raise
        for run_id in superseded:
            with suppress(TocsinError):  # another step settles it
                await self.settle(await self.store.get(run_id))
        return begun

    async def _replace(self, earlier: Iterable[str]) -> None:
        for run_id in earlier:
            with suppress(RunEndedError):
                await self.cancel(run_id, REPLACED)

    def _pend(self, pending: PendingRun) -> PendingRun:
        """Begin a queued run of this process in its turn."""
        self._pending[pending.run.id] = pending
        self._poll_as_needed()
        if self._turns is None or self._turns.done():
            self._turns = asyncio.create_task(self._take_turns())
        return pending

    async def _take_turns(self) -> None:
        """Begin the queued runs of this process, until there are none."""
        reported = False
        while self._pending:
            self._look.clear()
            try:
                async with self._resuming:
                    for kind in {pending.run.kind for pending in self._pending.values()}:
                        await self._take_queued(kind, only_own=True)
                    await self._start_taken()
                    await self._check_pending()
                reported = False
            except StoreUnavailableError as error:
                self._may_have_taken = True
                if not reported:
                    log.warning("queued runs wait for the store", extra={"reason": error.sentence()})
                reported = True
            if self._pending:
                with suppress(TimeoutError):  # the others may end in any process
                    await asyncio.wait_for(self._look.wait(), TURN_S)

    async def _check_pending(self) -> None:
        """Tell those who wait for a queued run that it was cancelled or deleted."""
        asked = dict(self._pending)
        found = {run.id: run for run in await self.store.several(list(asked))}
        for run_id, pending in asked.items():
            run = found.get(run_id)
            if run is None or run.status in TERMINAL:
                self._forget(run_id)
                pending.fail(run)

    async def resume(self) -> bool:
        """Continue the runs that other processes left, and begin queued ones in their turn; return whether any wait.

        Raises StoreUnavailableError; the next call then starts what this process has taken and not started.
        """
        async with self._resuming:
            try:
                left = await self.store.left()
                for run_id in left.at_work:
                    claimed = await self.store.claim(run_id, self.owner)
                    if claimed is not None:
                        self._taken[run_id] = claimed.was_at
                for kind in left.queued_kinds:
                    await self._take_queued(kind)
                await self._start_taken()
            except StoreUnavailableError:
                self._may_have_taken = True
                raise
            return bool(left.queued_kinds)

    async def _take_queued(self, kind: str, *, only_own: bool = False) -> None:
        run_type = self._settler.type_of(kind, {}) if self._settler else None
        if run_type is None and not only_own:  # its plug-in is not installed
            return
        policy_of = run_type.start_policy if run_type else _in_turn
        try:
            step = await self.store.begin_queued(kind, self.owner, self._clock.now(), policy_of, only_own=only_own)
        except StoreUnavailableError:
            raise
        except Exception:  # it may be a plug-in's type: runs of other kinds begin
            log.exception("beginning queued runs failed", extra={"kind": kind})
            return
        self._taken.update(dict.fromkeys(step.begun, ""))
        for run_id in step.ended:
            await self.settle(await self.store.get(run_id))
        await self._replace(step.replaced)

    async def _start_taken(self) -> None:
        """Start the runs that this process has taken, also those whose taking the store did not confirm."""
        if self._may_have_taken:
            at_work = await self.store.at_work_of(self.owner)
            known = self._active.keys() | self._taken.keys() | self._unrecorded.keys()
            self._taken.update({run_id: "" for run_id in at_work if run_id not in known})
            self._may_have_taken = False
        for run_id, was_at in list(self._taken.items()):
            with suppress(UnknownRunError):  # it was deleted with its subject
                record = await self.store.records.get(run_id)
                if record.owner == self.owner and record.run.status not in TERMINAL:
                    request = record.task.request if record.task else {}
                    await self._start(ClaimedRun(record.run, request, was_at))
            self._taken.pop(run_id)

    async def _start(self, claimed: ClaimedRun) -> None:
        """Start the work of a run that this process has taken."""
        run = claimed.run
        if pending := self._pending.pop(run.id, None):
            spec = pending.spec
            limits: Mapping[str, Any] = {"log_max_bytes": spec.log_max_bytes, "request": spec.request}
            pending.begin(await self.start_taken(run, pending.work, watch=pending.watch, **limits))
            return
        work, limit, reason = None, LOG_MAX_BYTES, WAS_LEFT
        try:
            if run_type := self._type_of(run):
                work, limit = await run_type.resume(run, claimed.request), run_type.log_max_bytes(run)
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            reason = error.sentence()
        except Exception:  # it may be a plug-in's type: the others are continued
            log.exception("continuing a run failed", extra={"run": run.id})
            work = None
        if work is not None:
            log.info("continuing a run", extra={"run": run.id, "subject": run.subject_name})
            await self.start_taken(run, work, log_max_bytes=limit, request=claimed.request, was_at=claimed.was_at)
        else:
            output = await asyncio.to_thread(lambda: summarise(read_lines(self._log_path(run))))
            await self.settle(await self._finish(run, interrupted(reason, run.id), output))


def _in_turn(_: QueuedRow) -> StartPolicy:
    return StartPolicy()
