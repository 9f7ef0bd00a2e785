"""Carry out runs in this process: begin, settle, release and continue them, and hear what others want of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tocsin.core.audit.trail import facts_of_caller
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.process.presence import Presence
from tocsin.core.time.clock import Clock
from tocsin.runs.engine.active_run import ActiveRun, PendingRun
from tocsin.runs.engine.recovery import WAS_LEFT, Recovery, interrupted, not_begun
from tocsin.runs.engine.run_type import RunType
from tocsin.runs.engine.settling import RunSettler
from tocsin.runs.log_file import log_path, read_host, read_lines, summarise
from tocsin.runs.model import (
    LOG_MAX_BYTES,
    TERMINAL,
    Line,
    Run,
    RunOutput,
    RunResult,
    RunSpec,
    RunStatus,
    new_run,
)
from tocsin.runs.output_log import OutputLog
from tocsin.runs.recorder import RunHandle, Work
from tocsin.runs.store import ClaimedRun, RunStore
from tocsin.runs.stored_run import RunEndedError, RunTask, UnknownRunError

log = logging.getLogger(__name__)

GRACE_S = 10.0  # between SIGTERM and SIGKILL
POLL_S = 1.0  # how soon another process learns that its run is cancelled
REFRESH_S = 0.05  # how soon a line is in the log
TURN_S = 0.2  # how often a queued run looks whether it is its turn
_TRIES = 5  # to record the end of a run
_NO_REQUEST: Mapping[str, Any] = {}


class RunExecutor:
    """The part of `Runs` that changes them."""

    def __init__(
        self,
        store: RunStore,
        directory: Path,
        clock: Clock,
        presence: Presence,
        *,
        redact: Callable[[str], str] = str,  # changes nothing
        settler: RunSettler | None = None,
        poll_s: float = POLL_S,
    ) -> None:
        """Keep logs below `directory`; `presence` is that of this process, `redact` masks secrets in logs.

        Without a `settler`, a run has no type: nothing follows from its end, and no other process continues it.
        """
        self.store = store
        self._directory = directory
        self._clock = clock
        self._presence = presence
        self._redact = redact
        self._settler = settler
        self._poll_s = poll_s
        self._active: dict[str, ActiveRun] = {}
        self._queued: dict[str, Run] = {}  # runs of this process that begin later
        self._turns: set[asyncio.Task[Run]] = set()  # each begins one of them
        self._unrecorded: dict[str, Callable[[], Awaitable[Run]]] = {}  # how to record the end of each of these runs
        self._recovery = Recovery(store, directory, clock, presence, may_continue=self._may_continue)
        self._poller: asyncio.Task[None] | None = None

    async def start(
        self,
        order: RunSpec,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
    ) -> ActiveRun:
        """Record a run, start its work and return immediately.

        `watch` receives each line.
        Raises StoreUnavailableError, without starting the work.
        """
        run = new_run(order, RunStatus.RUNNING, self._clock.now())

        async def enter() -> Run:
            await self.store.add(run, self._presence.identity, self._task_of(order))
            return run

        running = self._prepare(run, order.log_max_bytes, watch, order.request)
        return await self._launch(running, work, enter)

    async def queue(self, order: RunSpec) -> Run:
        """Record a run that begins later, with `begin`; raises InstantRecordedError, StoreUnavailableError."""
        run = new_run(order, RunStatus.QUEUED, self._clock.now())
        await self.store.add(run, self._presence.identity, self._task_of(order))
        self._hold(run)
        return run

    async def start_in_turn(
        self, order: RunSpec, work: Work, *, watch: Callable[[Line], None] | None = None
    ) -> PendingRun:
        """Record a run that begins when no earlier one of its subject is queued or at work. Raises like `queue`."""
        run = await self.queue(order)
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
            while not await self.store.is_next(run):  # noqa: ASYNC110  # the others end in any process
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

    async def begin(
        self,
        run: Run,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
        request: Mapping[str, Any] = _NO_REQUEST,
    ) -> ActiveRun:
        """Start the work of a queued run, as `start` does; raises RunEndedError for one that was cancelled."""

        async def enter() -> Run:
            return await self.store.begin(run.id, self._presence.identity, self._clock.now())

        try:
            running = self._prepare(run, LOG_MAX_BYTES, watch, request)
            return await self._launch(running, work, enter)
        finally:
            self._forget(run.id)

    async def start_taken(
        self,
        run: Run,
        work: Work,
        *,
        log_max_bytes: int = LOG_MAX_BYTES,
        watch: Callable[[Line], None] | None = None,
        request: Mapping[str, Any] | None = None,
        was_at: str = "",
    ) -> ActiveRun:
        """Start the work of a run that is recorded as running by this process already.

        With a `request`, it continues a run of another process, and appends to its log. `was_at` is the data directory
        of that process, which the log names if it is another one.
        """

        async def enter() -> Run:
            return run

        running = self._prepare(run, log_max_bytes, watch, request or {})
        if request is not None:
            await asyncio.to_thread(running.capture.reopen)
        if was_at != self.store.home:
            said = f"continued here: the output before this line is on the host {read_host(was_at)}\n"
            running.capture.feed("system", said.encode())
        return await self._launch(running, work, enter)

    @property
    def owner(self) -> str:
        """How this process is named as the owner of its runs."""
        return self._presence.identity

    async def cancel(self, run_id: str, reason: str = "", grace_s: float = GRACE_S) -> Run:
        """Ask a run in any process to end, and return its present record.

        Raises UnknownRunError, RunEndedError, StoreUnavailableError.
        """
        run = await self.store.request_cancel(run_id, reason, grace_s, self._clock.now())
        self._forget(run_id)
        if running := self._active.get(run_id):
            running.ask_to_end(grace_s)
        elif run.status is RunStatus.CANCELLING:
            run = await self._recovery.end_if_left(run)
        return await self.settle(run) if run.status in TERMINAL else run

    async def resume(self) -> bool:
        """Continue the runs that other processes left, in this one; return whether there are any.

        A queued one waits for its turn. Raises StoreUnavailableError.
        """
        released = await self.store.released(self._queues)
        for run_id in released:
            claimed = await self.store.claim(run_id, self._presence.identity, self._clock.now())
            if claimed is not None:
                await self._resume(claimed)
        return bool(released)

    async def _resume(self, claimed: ClaimedRun) -> None:
        run, work, reason = claimed.run, None, WAS_LEFT
        try:
            run_type = self._type_of(run)
            work = await run_type.resume(run, claimed.request) if run_type else None
        except StoreUnavailableError:
            await self.store.release(run.id, self._presence.identity)
            raise
        except TocsinError as error:
            reason = error.sentence()
        except Exception:  # it may be a plug-in's type: the others are continued
            log.exception("continuing a run failed", extra={"run": run.id})
        if work is not None:
            log.info("continuing a run", extra={"run": run.id, "subject": run.subject_name})
            await self.start_taken(run, work, request=claimed.request, was_at=claimed.was_at)
        else:
            output = await asyncio.to_thread(lambda: summarise(read_lines(self._log_path(run))))
            await self.settle(await self._finish(run, interrupted(reason, run.id), output))

    async def aclose(self) -> None:
        """End or release all runs of this process, and wait until that is recorded."""
        for task in (turns := list(self._turns)):
            task.cancel()
        active = list(self._active.values())
        for running in active:  # before any of them ends: it may wait for another one
            if self._may_continue(running.run, running.request):
                running.release()
        await asyncio.gather(*(running.stop() for running in active))
        await asyncio.gather(*turns, return_exceptions=True)
        for run in list(self._queued.values()):
            self._forget(run.id)
            with suppress(StoreUnavailableError):  # the next start ends or releases it
                if (found := self._type_of(run)) and found.queues:
                    await self.store.release(run.id, self._presence.identity)
                else:
                    await self.settle(
                        await self.store.finish(run.id, not_begun(run.id), RunOutput(), self._clock.now())
                    )

    def _prepare(
        self,
        run: Run,
        log_max_bytes: int,
        watch: Callable[[Line], None] | None,
        request: Mapping[str, Any],
    ) -> ActiveRun:
        capture = OutputLog(self._log_path(run), log_max_bytes, self._clock, self._redact, watch)
        return ActiveRun(run, RunHandle(run.id, capture, self.store, self._clock, request), capture, self._redact)

    async def _launch(self, running: ActiveRun, work: Work, enter: Callable[[], Awaitable[Run]]) -> ActiveRun:
        """Let a run enter its state in the store, begin its work, and return then."""
        recorded = asyncio.Event()
        running.task = asyncio.create_task(self._carry_out(running, work, enter, recorded))
        try:
            await recorded.wait()
        except asyncio.CancelledError:
            await running.stop()
            raise
        if running.task.done() and running.run.id not in self._active:
            running.task.result()  # raises: it could not be recorded
        return running

    def _log_path(self, run: Run) -> Path:
        return log_path(self._directory, run.id, run.queued_at)

    def _hold(self, run: Run) -> None:
        """Leave signs of life for a queued run, too."""
        self._queued[run.id] = run
        self._poll_as_needed()

    def _forget(self, run_id: str) -> None:
        self._queued.pop(run_id, None)
        self._poll_as_needed()

    def _type_of(self, run: Run | RunSpec) -> RunType | None:
        return self._settler.type_of(run.kind, run.params) if self._settler else None

    def _queues(self, kind: str) -> bool:
        found = self._settler.type_of(kind, {}) if self._settler else None
        return found is not None and found.queues

    def _may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        found = self._type_of(run)
        return found is not None and found.may_continue(run, request)

    def _task_of(self, order: RunSpec) -> RunTask | None:
        return RunTask(order.request, facts_of_caller(order.source)) if self._type_of(order) else None

    async def settle(self, run: Run) -> Run:
        """Settle an ended run, and return its latest record; what cannot be done now is left to `settle_left`."""
        if self._settler is None:
            return run
        try:
            return await self._settler.settle(run)
        except TocsinError as error:
            log.warning("a run is not settled yet", extra={"run": run.id, "reason": error.sentence()})
        except Exception:  # it may be a plug-in's type: the caller still gets the ended run
            log.exception("settling a run failed", extra={"run": run.id})
        return run

    async def _carry_out(
        self, running: ActiveRun, work: Work, enter: Callable[[], Awaitable[Run]], recorded: asyncio.Event
    ) -> Run:
        try:
            running.run = await enter()
            self._active[running.run.id] = running
            self._poll_as_needed()
        finally:
            recorded.set()
        try:
            ended = await running.carry_out(work)
            output = running.capture.close()
            if running.is_released:
                return await self._give_up(running.run)
            run = await self._finish(running.run, ended, output)
            return await self.settle(run)
        finally:
            del self._active[running.run.id]
            self._poll_as_needed()

    async def _give_up(self, run: Run) -> Run:
        try:
            return await self.store.release(run.id, self._presence.identity)
        except StoreUnavailableError:  # it is released when this process has ended
            return run

    def _poll_as_needed(self) -> None:
        """Poll while there are runs of this process that have not ended."""
        if self._active or self._queued or self._unrecorded:
            self._poller = self._poller or asyncio.create_task(self._poll())
        elif self._poller:
            self._poller.cancel()
            self._poller = None

    async def _poll(self) -> None:
        """Update log files and this process's presence, and hear what other processes want of its runs."""
        loop = asyncio.get_running_loop()
        heard_at = loop.time()
        while True:
            await asyncio.sleep(min(REFRESH_S, self._poll_s) if self._active else self._poll_s)
            try:
                for running in self._active.values():
                    running.capture.refresh()
                if loop.time() - heard_at >= self._poll_s:
                    heard_at = loop.time()
                    await self._presence.beat()
                    await self._hear()
                    await self._record_ends()
            except StoreUnavailableError:  # the next poll may work; its users report the failure
                continue
            except Exception:  # without signs of life, other processes would end these runs
                log.exception("maintaining the runs of this process failed")

    async def _record_ends(self) -> None:
        """Record the ends that could not be recorded while the store was unavailable."""
        for run_id, finish in list(self._unrecorded.items()):
            with suppress(UnknownRunError):  # it was deleted with its subject
                await self.settle(await finish())
            del self._unrecorded[run_id]
        self._poll_as_needed()

    async def _hear(self) -> None:
        """Carry out what other processes want of the runs of this one."""
        for wish in await self.store.cancelling(list(self._active)):
            if wanted := self._active.get(wish.run_id):
                wanted.ask_to_end(wish.grace_s)
        waiting = [run_id for run_id, running in self._active.items() if running.waits]
        for decision in await self.store.approvals.decisions(waiting) if waiting else ():
            if wanted := self._active.get(decision.run_id):
                wanted.decided(decision)

    async def _finish(self, run: Run, ended: RunResult, output: RunOutput) -> Run:
        """Record the end of a run, retrying while the store is unavailable."""
        now, problem = self._clock.now(), ""
        for _ in range(_TRIES):
            try:
                return await self.store.finish(run.id, ended, output, now)
            except StoreUnavailableError as error:
                problem = error.sentence()
                await asyncio.sleep(self._poll_s)
        # The waiting caller still gets the result.
        log.error("recording the end of a run failed", extra={"run": run.id, "reason": problem})
        self._unrecorded[run.id] = partial(self.store.finish, run.id, ended, output, now)
        run = replace(run, status=ended.status, reason=ended.reason, finished_at=now, output=output)
        return replace(run, exit_code=ended.exit_code, signal=ended.signal, error=ended.error)
