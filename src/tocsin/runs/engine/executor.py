"""Execute runs in this process: start, settle, release and continue them, and react to requests of other processes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tocsin.core.audit.trail import facts_of_caller
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.process.presence import Presence
from tocsin.core.tasks import to_the_end
from tocsin.core.time.clock import Clock
from tocsin.core.tracing.spans import TRACEPARENT, SpanKind, span, stored_traceparent
from tocsin.runs.engine.active_run import ActiveRun, PendingRun
from tocsin.runs.engine.recovery import Recovery, interrupted, not_begun
from tocsin.runs.engine.run_type import RunType
from tocsin.runs.engine.settling import RunSettler
from tocsin.runs.log_file import log_path, read_host
from tocsin.runs.model import (
    ENDED_BADLY,
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
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import RunTask, UnknownRunError

log = logging.getLogger(__name__)

GRACE_S = 10.0  # between SIGTERM and SIGKILL
POLL_S = 1.0  # how soon another process learns that its run is cancelled
REFRESH_S = 0.05  # how soon a line is in the log
_TRIES = 5  # to record the end of a run
_UNCONFIRMED = "the store became unavailable while the run was recorded"


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
        self._pending: dict[str, PendingRun] = {}  # queued runs of this process
        self._turns: asyncio.Task[None] | None = None  # begins them
        self._look = asyncio.Event()  # set when it may be the turn of one of them
        self._taken: dict[str, str] = {}  # runs that this process has still to start, and where each was before
        self._may_have_taken = False  # True if the store has not confirmed that this process took runs
        self._resuming = asyncio.Lock()
        self._unrecorded: dict[str, Callable[[], Awaitable[Run]]] = {}  # how to record the end of each of these runs
        self._recovery = Recovery(store, directory, clock, presence, may_continue=self._may_continue)
        self._poller: asyncio.Task[None] | None = None
        self.wake_engine: Callable[[], None] = lambda: None  # called when a run has ended: the next may begin

    async def start(
        self,
        spec: RunSpec,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
        confirm: Callable[[Run], Awaitable[None]] | None = None,
    ) -> ActiveRun:
        """Record a run, start its work and return immediately; `watch` receives each line.

        `confirm` is called between the two: if it raises, the record is deleted, and the work does not start. Raises
        StoreUnavailableError, without starting the work.
        """
        spec = traced(spec)
        run = new_run(spec, RunStatus.RUNNING, self._clock.now())

        async def enter() -> Run:
            with self._ended_if_unconfirmed(run):
                await self.store.add(run, self.owner, self._task_of(spec))
            if confirm:
                try:
                    await confirm(run)
                except BaseException:
                    await to_the_end(self.store.records.remove([run.id]))
                    raise
            return run

        running = self._prepare(run, spec.log_max_bytes, watch, spec.request)
        return await self._launch(running, work, enter)

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
        if was_at not in {"", self.store.home}:
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
        self._look.set()
        if running := self._active.get(run_id):
            running.ask_to_end(grace_s)
        elif run.status is RunStatus.CANCELLING:
            run = await self._recovery.end_if_left(run)
        return await self.settle(run) if run.status in TERMINAL else run

    async def aclose(self) -> None:
        """End or release all runs of this process, and wait until that is recorded."""
        if self._turns:
            self._turns.cancel()
            await asyncio.wait([self._turns])
        active = list(self._active.values())
        for running in active:  # before any of them ends: it may wait for another one
            if self._may_continue(running.run, running.request):
                running.release()
        await asyncio.gather(*(running.stop() for running in active))
        with suppress(StoreUnavailableError):  # other processes then end or release what is left
            await self._record_ends()
            for run_id in list(self._taken):
                with suppress(UnknownRunError):
                    await self.store.release(run_id, self.owner)
            for pending in list(self._pending.values()):
                await self._give_back(pending)
        self._taken.clear()
        for pending in list(self._pending.values()):
            self._forget(pending.run.id)
            pending.begun.cancel()

    async def _give_back(self, pending: PendingRun) -> None:
        """Release a queued run, or end it if no other process can execute it."""
        run = pending.run
        with suppress(UnknownRunError):
            if self._may_continue(run, pending.spec.request):
                await self.store.release(run.id, self.owner)
            else:
                ended = await self.store.finish(run.id, not_begun(run.id), RunOutput(), self._clock.now())
                pending.fail(await self.settle(ended))

    def _prepare(
        self,
        run: Run,
        log_max_bytes: int,
        watch: Callable[[Line], None] | None,
        request: Mapping[str, Any],
    ) -> ActiveRun:
        capture = OutputLog(self._log_path(run), log_max_bytes, self._clock, self._redact, watch)
        return ActiveRun(run, RunHandle(run, capture, self.store, self._clock, request), capture, self._redact)

    async def _launch(self, running: ActiveRun, work: Work, enter: Callable[[], Awaitable[Run]]) -> ActiveRun:
        """Let a run enter its state in the store, begin its work, and return then."""
        recorded = asyncio.Event()
        running.task = asyncio.create_task(self._execute(running, work, enter, recorded))
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

    def _forget(self, run_id: str) -> None:
        self._pending.pop(run_id, None)
        self._poll_as_needed()

    @contextmanager
    def _ended_if_unconfirmed(self, run: Run) -> Iterator[None]:
        """End a new run later if the store may have recorded it without confirming that: its work does not start."""
        self._unrecorded.pop(run.id, None)  # the caller records a run of its own ID again
        try:
            yield
        except StoreUnavailableError:
            result, now = interrupted(_UNCONFIRMED, run.id), self._clock.now()
            self._unrecorded[run.id] = partial(self.store.finish, run.id, result, RunOutput(), now)
            self._poll_as_needed()
            raise

    def _type_of(self, run: Run | RunSpec) -> RunType | None:
        return self._settler.type_of(run.kind, run.params) if self._settler else None

    def _may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        found = self._type_of(run)
        return found is not None and found.may_continue(run, request)

    def _task_of(self, spec: RunSpec) -> RunTask | None:
        return RunTask(spec.request, facts_of_caller(spec.source)) if self._type_of(spec) else None

    async def settle(self, run: Run) -> Run:
        """Settle an ended run, and return its latest record; what cannot be done now is left to `settle_left`."""
        if self._settler is None:
            return run
        try:
            return await self._settler.settle(run)
        except TocsinError as error:
            log.warning(
                "the message, retry, notice or audit entry of a run is not written yet",
                extra={"run": run.id, "reason": error.sentence()},
            )
        except Exception:  # it may be a plug-in's type: the caller still gets the ended run
            log.exception(
                "the message, retry, notice or audit entry of a run could not be written", extra={"run": run.id}
            )
        return run

    async def _execute(
        self, running: ActiveRun, work: Work, enter: Callable[[], Awaitable[Run]], recorded: asyncio.Event
    ) -> Run:
        try:
            running.run = await enter()
            self._active[running.run.id] = running
            self._poll_as_needed()
        finally:
            recorded.set()
        run = running.run
        parent = stored_traceparent(running.request)
        try:
            with span(
                "run", SpanKind.CONSUMER, parent=parent, kind=run.kind, run=run.id, trigger=run.trigger
            ) as current:
                result = await running.execute(work)
                output = running.capture.close()
                if running.is_released:
                    return await self._give_up(run)
                run = await self._finish(running.run, result, output)
                current.set(outcome=run.status)
                if run.status in ENDED_BADLY:
                    current.fail((run.error or {}).get("code") or run.status)
                return await self.settle(run)
        finally:
            del self._active[running.run.id]
            self._poll_as_needed()
            self._look.set()
            self.wake_engine()

    async def _give_up(self, run: Run) -> Run:
        try:
            return await self.store.release(run.id, self._presence.identity)
        except StoreUnavailableError:  # it is released when this process has ended
            return run

    def _poll_as_needed(self) -> None:
        """Poll while there are runs of this process that have not ended."""
        if self._active or self._pending or self._unrecorded:
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
            self._unrecorded.pop(run_id, None)  # the poll and `aclose` may do this at the same time
        self._poll_as_needed()

    async def _hear(self) -> None:
        """React to the cancellations and decisions that other processes recorded for the runs of this one."""
        for wish in await self.store.cancelling(list(self._active)):
            if wanted := self._active.get(wish.run.id):
                wanted.ask_to_end(wish.cancel_grace_s)
        waiting = [run_id for run_id, running in self._active.items() if running.waits]
        for decision in await self.store.approvals.decisions(waiting) if waiting else ():
            if wanted := self._active.get(decision.run_id):
                wanted.decided(decision)

    async def _finish(self, run: Run, result: RunResult, output: RunOutput) -> Run:
        """Record the end of a run, retrying while the store is unavailable."""
        now, problem = self._clock.now(), ""
        for _ in range(_TRIES):
            try:
                return await self.store.finish(run.id, result, output, now)
            except StoreUnavailableError as error:
                problem = error.sentence()
                await asyncio.sleep(self._poll_s)
        # The waiting caller still gets the result.
        log.error("recording the end of a run failed", extra={"run": run.id, "reason": problem})
        self._unrecorded[run.id] = partial(self.store.finish, run.id, result, output, now)
        run = replace(run, status=result.status, reason=result.reason, finished_at=now, output=output)
        return replace(run, exit_code=result.exit_code, signal=result.signal, error=result.error)


def traced(spec: RunSpec) -> RunSpec:
    """Return `spec` with the current trace, which the run continues in any process."""
    with span("start run", SpanKind.PRODUCER, kind=spec.kind, trigger=spec.trigger) as started:
        if not started.traceparent:
            return spec
        return replace(spec, request={**spec.request, TRACEPARENT: started.traceparent})
