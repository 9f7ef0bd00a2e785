"""Admit, queue, begin and continue runs in this process, in the turn of their subject."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.tasks import to_the_end
from tocsin.runs.engine.active_run import ActiveRun, PendingRun
from tocsin.runs.engine.admission import REPLACED
from tocsin.runs.engine.executor import RunExecutor
from tocsin.runs.engine.overlap import Admission, OverlapError, OverlapRules
from tocsin.runs.engine.recovery import WAS_LEFT, interrupted
from tocsin.runs.log_file import read_lines, summarise
from tocsin.runs.model import LOG_MAX_BYTES, WAITER_ENDED, Line, Run, RunSpec, RunStatus, new_run
from tocsin.runs.recorder import Work
from tocsin.runs.store import ClaimedRun
from tocsin.runs.stored_run import RunEndedError, UnknownRunError

log = logging.getLogger(__name__)

TURN_S = 0.2  # how often a queued run looks whether it is its turn


class _NotStartedError(Exception):
    def __init__(self, admission: Admission) -> None:
        super().__init__()
        self.admission = admission


class QueueingExecutor(RunExecutor):
    """The part of `Runs` that decides when they begin."""

    async def admit(
        self, order: RunSpec, work: Work, rules: OverlapRules, *, watch: Callable[[Line], None] | None = None
    ) -> ActiveRun:
        """Start a run now if `rules` allow it beside those of its subject.

        Raises OverlapError, StoreUnavailableError, without starting the work.
        """
        begun = await self._admit(order, work, rules, watch, may_wait=False)
        assert isinstance(begun, ActiveRun)  # noqa: S101  # it may not wait
        return begun

    async def admit_or_queue(
        self, order: RunSpec, work: Work, rules: OverlapRules, *, watch: Callable[[Line], None] | None = None
    ) -> ActiveRun | PendingRun:
        """Start a run, or queue it until no earlier one of its subject is due or at work. Raises like `admit`.

        If `rules` say that it replaces earlier ones, these are cancelled.
        """
        return await self._admit(order, work, rules, watch, may_wait=True)

    async def check_admission(self, order: RunSpec, rules: OverlapRules) -> None:
        """Raise OverlapError if `admit_or_queue` would."""
        found = await self.store.admission(new_run(order, RunStatus.QUEUED, self._clock.now()), rules)
        if found.reason:
            raise OverlapError(found.reason)

    async def _admit(
        self,
        order: RunSpec,
        work: Work,
        rules: OverlapRules,
        watch: Callable[[Line], None] | None,
        *,
        may_wait: bool,
    ) -> ActiveRun | PendingRun:
        run, task = new_run(order, RunStatus.RUNNING, self._clock.now()), self._task_of(order)

        async def enter() -> Run:
            admission = await self.store.admit(run, self.owner, task, rules, may_wait=may_wait)
            for run_id in admission.supersedes:
                await self.settle(await self.store.get(run_id))
            if not admission.start:
                raise _NotStartedError(admission)
            return run

        try:
            return await self._launch(self._prepare(run, order.log_max_bytes, watch, order.request), work, enter)
        except _NotStartedError as error:
            admission = error.admission
        except asyncio.CancelledError:
            with suppress(UnknownRunError, RunEndedError):  # it may be queued by now
                await to_the_end(self.cancel(run.id, WAITER_ENDED))
            raise
        if admission.reason:
            raise OverlapError(admission.reason)
        pending = self._pend(replace(run, status=RunStatus.QUEUED, started_at=None), order, work, watch)
        await self._replace(admission.replaces)
        return pending

    async def _replace(self, earlier: Iterable[str]) -> None:
        for run_id in earlier:
            with suppress(RunEndedError):
                await self.cancel(run_id, REPLACED)

    async def queue(self, order: RunSpec) -> Run:
        """Record a run that begins later, with `begin`; raises InstantRecordedError, StoreUnavailableError."""
        run = new_run(order, RunStatus.QUEUED, self._clock.now())
        await self.store.add(run, self._presence.identity, self._task_of(order))
        self._hold(run, order.request)
        return run

    def _pend(self, run: Run, order: RunSpec, work: Work, watch: Callable[[Line], None] | None = None) -> PendingRun:
        """Begin a queued run of this process in its turn."""
        self._hold(run, order.request)
        begun: asyncio.Future[ActiveRun] = asyncio.get_running_loop().create_future()
        self._turns.add(task := asyncio.create_task(self._take_turn(run, order, work, watch, begun)))
        task.add_done_callback(self._turns.discard)
        return PendingRun(run, task, begun)

    async def _take_turn(
        self,
        run: Run,
        order: RunSpec,
        work: Work,
        watch: Callable[[Line], None] | None,
        begun: "asyncio.Future[ActiveRun]",
    ) -> Run:
        try:
            while not await self.store.is_next(run, self._clock.now()):  # noqa: ASYNC110  # the others end in any process
                await asyncio.sleep(TURN_S)
            running = await self.begin(run, work, watch=watch, request=order.request)
        except RunEndedError as error:
            begun.set_exception(error)
            begun.exception()  # it is retrieved, also where only the end is waited for
            return await self.store.get(run.id)
        except BaseException:
            begun.cancel()
            raise
        begun.set_result(running)
        return await running.wait()

    async def resume(self) -> bool:
        """Continue the runs that other processes left, and begin queued ones in their turn; return whether any wait.

        Raises StoreUnavailableError; the next call then starts what this process has taken and not started.
        """
        async with self._resuming:
            for run_id in await self.store.released():
                claimed = await self.store.claim(run_id, self.owner)
                if claimed is not None:
                    self._taken[run_id] = claimed.was_at
            kinds = await self.store.queued_kinds()
            for kind in kinds:
                await self._take_queued(kind)
            for run_id, was_at in list(self._taken.items()):
                await self._start(run_id, was_at)
            return bool(kinds)

    async def _take_queued(self, kind: str) -> None:
        run_type = self._settler.type_of(kind, {}) if self._settler else None
        if run_type is None:  # its plug-in is not installed
            return
        try:
            step = await self.store.begin_queued(kind, self.owner, self._clock.now(), run_type.start_policy)
        except StoreUnavailableError:
            raise
        except Exception:  # it may be a plug-in's type: runs of other kinds begin
            log.exception("beginning queued runs failed", extra={"kind": kind})
            return
        self._taken.update(dict.fromkeys(step.begun, ""))
        for run_id in step.ended:
            await self.settle(await self.store.get(run_id))
        await self._replace(step.replaced)

    async def _start(self, run_id: str, was_at: str) -> None:
        """Start the work of a run that this process has taken, unless it was deleted with its subject."""
        with suppress(UnknownRunError):
            record = await self.store.records.get(run_id)
            await self._resume(ClaimedRun(record.run, record.task.request if record.task else {}, was_at))
        self._taken.pop(run_id)

    async def _resume(self, claimed: ClaimedRun) -> None:
        run, work, reason = claimed.run, None, WAS_LEFT
        try:
            run_type = self._type_of(run)
            work = await run_type.resume(run, claimed.request) if run_type else None
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            reason = error.sentence()
        except Exception:  # it may be a plug-in's type: the others are continued
            log.exception("continuing a run failed", extra={"run": run.id})
        if work is not None:
            log.info("continuing a run", extra={"run": run.id, "subject": run.subject_name})
            limit = run_type.log_max_bytes(run) if run_type else LOG_MAX_BYTES
            await self.start_taken(run, work, log_max_bytes=limit, request=claimed.request, was_at=claimed.was_at)
        else:
            output = await asyncio.to_thread(lambda: summarise(read_lines(self._log_path(run))))
            await self.settle(await self._finish(run, interrupted(reason, run.id), output))
