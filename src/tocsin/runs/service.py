"""Runs: execute work, record it, cancel it, and clean up after dead processes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.core import short_ids
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.pages import ListPage
from tocsin.core.process.presence import Presence
from tocsin.core.text.redaction import masked
from tocsin.core.time.clock import Clock
from tocsin.runs.active_run import ActiveRun
from tocsin.runs.approvals import ButtonPress, Decision, WaitingStep
from tocsin.runs.log_file import LogPage, follow, page, path_of, plain, read_lines, remove_logs, text_of
from tocsin.runs.model import (
    LOG_MAX_BYTES,
    TERMINAL,
    Line,
    OutputDelivery,
    Run,
    RunKind,
    RunOutput,
    RunResult,
    RunSpec,
    RunStatus,
    new_run,
)
from tocsin.runs.output_log import OutputLog
from tocsin.runs.recorder import RunHandle, Work
from tocsin.runs.recovery import Recovery, not_begun
from tocsin.runs.rows import unknown_run
from tocsin.runs.store import RunFilter, RunStore

log = logging.getLogger(__name__)

GRACE_S = 10.0  # between SIGTERM and SIGKILL
POLL_S = 1.0  # how soon another process learns that its run is cancelled
REFRESH_S = 0.05  # how soon a line is in the log
KEEP_DAYS, KEEP_PER_SUBJECT, KEEP_FAILED = 30, 200, 500
_TRIES = 5  # to record the end of a run


class Runs:
    """The runs of all processes that share the data directory."""

    def __init__(
        self,
        store: RunStore,
        directory: Path,
        clock: Clock,
        presence: Presence,
        *,
        redact: Callable[[str], str] = str,  # changes nothing
        poll_s: float = POLL_S,
    ) -> None:
        """Keep logs below `directory`; `presence` is that of this process, `redact` masks secrets in logs."""
        self._store = store
        self._directory = directory
        self._clock = clock
        self._presence = presence
        self._redact = redact
        self._poll_s = poll_s
        self._active: dict[str, ActiveRun] = {}
        self._queued: set[str] = set()  # runs of this process that begin later
        self._recovery = Recovery(store, directory, clock, presence)
        self._poller: asyncio.Task[None] | None = None

    async def execute(
        self,
        order: RunSpec,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> Run:
        """Run `work` to its end and return the run. Unlike with `start`, cancelling the caller ends the work."""
        running = await self.start(order, work, watch=watch, on_end=on_end)
        return await running.wait_or_stop()

    async def start(
        self,
        order: RunSpec,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> ActiveRun:
        """Record a run, start its work and return immediately.

        `watch` receives each line, `on_end` the ended run, once.
        Raises StoreUnavailableError, without starting the work.
        """
        run = new_run(order, RunStatus.RUNNING, self._clock.now())

        async def enter() -> Run:
            await self._store.add(run, self._presence.identity)
            return run

        running = self._prepare(run, order.log_max_bytes, watch, on_end)
        return await self._launch(running, work, enter)

    async def queue(self, order: RunSpec) -> Run:
        """Record a run that begins later, with `begin`; raises InstantRecordedError, StoreUnavailableError."""
        run = new_run(order, RunStatus.QUEUED, self._clock.now())
        await self._store.add(run, self._presence.identity)
        self._hold(run.id)
        return run

    async def begin(
        self,
        run: Run,
        work: Work,
        *,
        log_max_bytes: int = LOG_MAX_BYTES,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> ActiveRun:
        """Start the work of a queued run, as `start` does; raises RunEndedError for one that was cancelled."""

        async def enter() -> Run:
            return await self._store.begin(run.id, self._presence.identity, self._clock.now())

        try:
            return await self._launch(self._prepare(run, log_max_bytes, watch, on_end), work, enter)
        finally:
            self._release(run.id)

    async def start_taken(
        self,
        run: Run,
        work: Work,
        *,
        log_max_bytes: int = LOG_MAX_BYTES,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> ActiveRun:
        """Start the work of a run that is recorded as running by this process already (`runs/queue.py`)."""

        async def enter() -> Run:
            return run

        return await self._launch(self._prepare(run, log_max_bytes, watch, on_end), work, enter)

    def now(self) -> float:
        """Return the time by the clock of runs."""
        return self._clock.now()

    @property
    def owner(self) -> str:
        """How this process is named as the owner of its runs."""
        return self._presence.identity

    def at_work(self) -> bool:
        """Whether this process carries out a run that does not wait for a person."""
        return any(not running.waits for running in self._active.values())

    async def record(self, order: RunSpec, ended: RunResult) -> Run:
        """Record a run that never started: skipped, missed or refused."""
        run = replace(new_run(order, ended.status, self._clock.now()), reason=ended.reason, error=ended.error)
        await self._store.add(run, self._presence.identity)
        return run

    async def cancel(self, run_id: str, reason: str = "", grace_s: float = GRACE_S) -> Run:
        """Ask a run in any process to end, and return its present record.

        Raises UnknownRunError, RunEndedError, StoreUnavailableError.
        """
        run = await self._store.request_cancel(run_id, reason, grace_s, self._clock.now())
        self._release(run_id)
        if running := self._active.get(run_id):
            running.ask_to_end(grace_s)
        elif run.status is RunStatus.CANCELLING:
            return await self._recovery.end_if_left(run)
        return run

    async def decide(self, decision: Decision, press: ButtonPress | None = None) -> Decision:
        """Approve or reject a waiting step of a run in any process, and return the decision with the step's name.

        A `press` tells the run and the step, and in which chat. Raises UnknownRunError, NotWaitingError,
        NotApproverError, StoreUnavailableError.
        """
        made = await self._store.approvals.decide(decision, press)
        if running := self._active.get(made.run_id):
            running.decided(made)
        return made

    async def waiting(self, run_id: str) -> list[WaitingStep]:
        """Return the steps of a run that wait for a decision."""
        return await self._store.approvals.waiting(run_id)

    async def asked(self, question: str) -> WaitingStep:
        """Return the step that waits with a question; raises UnknownQuestionError."""
        return await self._store.approvals.asked(question)

    async def set_delivery(self, run_id: str, delivery: OutputDelivery) -> Run:
        """Record how far the messages with a run's output came, also after its end; raises UnknownRunError."""
        return await self._store.set_delivery(run_id, delivery)

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return await self._store.get(run_id)

    def definition(self, run: Run) -> dict[str, Any] | None:
        """Return what a run executed, without secrets; None if that is not kept."""
        return None if run.snapshot is None else masked(run.snapshot, self._redact)

    async def whole_id(self, text: str) -> str:
        """Return the ID that `text` is or is short for; raises UnknownRunError, AmbiguousIdError."""
        return await short_ids.whole_id(text, self._store.matching, unknown_run, "runs")

    async def shortened(self, ids: Sequence[str]) -> dict[str, str]:
        """Return for each ID the shortest unique form."""
        return await short_ids.shortened(ids, self._store.matching)

    async def search(
        self,
        kind: RunKind | None = None,
        subject: str = "",
        status: Collection[RunStatus] = (),
        limit: int = 50,
        cursor: str = "",
        *,
        parts: bool = False,
    ) -> ListPage[Run]:
        """Return up to 200 of the newest runs; `parts` adds steps and hosts."""
        return await self.find(RunFilter(kind, subject, status, limit, cursor, parts=parts))

    async def find(self, wanted: RunFilter) -> ListPage[Run]:
        """Return up to 200 of the runs that match."""
        return await self._store.search(wanted)

    async def count_recent(self, kind: RunKind, subject: str, period_s: float) -> int:
        """Return how many runs of a subject were queued within the last `period_s` seconds."""
        return await self._store.count(RunFilter(kind, subject, since=self._clock.now() - period_s))

    async def log(
        self, run_id: str, from_line: int = 1, stream: str = "", *, tail: int = 0, ansi: bool = False
    ) -> LogPage:
        """Return up to 1,000 lines of a run's log, or the last `tail`; without `ansi`, free of escape sequences."""
        run = await self.get(run_id)

        def read() -> LogPage:
            lines = read_lines(self._log_path(run))
            shown = lines if ansi else plain(lines)
            ended, truncated = run.status in TERMINAL, run.output.truncated
            return page(shown, from_line, stream, ended=ended, truncated=truncated, tail=tail)

        return await asyncio.to_thread(read)

    async def follow(self, run_id: str, from_line: int = 1) -> AsyncIterator[Line]:
        """Yield the lines of a run in any process as they come, escape sequences included, until it has ended."""
        path = self._log_path(await self.get(run_id))

        async def ended() -> bool:
            return (await self.get(run_id)).status in TERMINAL

        async for line in follow(path, from_line, ended):
            yield line

    async def text(self, run_id: str, max_chars: int) -> str:
        """Return the beginning of a run's output, streams interleaved in the order of arrival."""
        run = await self.get(run_id)
        return await asyncio.to_thread(lambda: text_of(read_lines(self._log_path(run)), max_chars))

    async def recover(self) -> list[Run]:
        """End runs whose process has ended or is silent, and the children it left here; to be called often."""
        return await self._recovery.recover()

    async def interrupt_runs_of(self, owner: str) -> list[Run]:
        """End the runs of one process that has ended, and the children it left at work here; return them."""
        return await self._recovery.interrupt_runs_of(owner)

    async def prune(self, days: int = KEEP_DAYS, keep: int = KEEP_PER_SUBJECT, keep_failed: int = KEEP_FAILED) -> int:
        """Delete old runs, and all but the newest of each subject, failed ones apart; return how many."""
        return await self._remove_logs(await self._store.prune(self._clock.now(), days, keep, keep_failed))

    async def forget(self, kind: RunKind, subject: str) -> int:
        """Delete the runs of a subject that have ended, and their logs; return how many."""
        return await self._remove_logs(await self._store.forget(kind, subject))

    async def aclose(self) -> None:
        """End all runs of this process, and wait until that is recorded."""
        await asyncio.gather(*(running.stop() for running in list(self._active.values())))
        for run_id in list(self._queued):
            self._release(run_id)
            with suppress(StoreUnavailableError):  # the next start ends it
                await self._store.finish(run_id, not_begun(run_id), RunOutput(), self._clock.now())

    async def _remove_logs(self, forgotten: Sequence[Run]) -> int:
        await asyncio.to_thread(remove_logs, [self._log_path(run) for run in forgotten])
        return len(forgotten)

    def _prepare(
        self,
        run: Run,
        log_max_bytes: int,
        watch: Callable[[Line], None] | None,
        on_end: Callable[[Run], None] | None,
    ) -> ActiveRun:
        capture = OutputLog(self._log_path(run), log_max_bytes, self._clock, self._redact, watch)
        return ActiveRun(run, RunHandle(run.id, capture, self._store, self._clock), capture, self._redact, on_end)

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
        return path_of(self._directory, run.id, run.queued_at)

    def _hold(self, run_id: str) -> None:
        """Leave signs of life for a queued run, too."""
        self._queued.add(run_id)
        self._poll_as_needed()

    def _release(self, run_id: str) -> None:
        self._queued.discard(run_id)
        self._poll_as_needed()

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
            run = await self._finish(running.run, ended, running.capture.close())
        finally:
            del self._active[running.run.id]
            self._poll_as_needed()
        if running.on_end:
            running.on_end(run)
        return run

    def _poll_as_needed(self) -> None:
        """Poll while there are runs of this process that have not ended."""
        if self._active or self._queued:
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
            except StoreUnavailableError:  # the next poll may work; its users report the failure
                continue
            except Exception:  # without signs of life, other processes would end these runs
                log.exception("looking after the runs of this process failed")

    async def _hear(self) -> None:
        """Carry out what other processes want of the runs of this one."""
        for wish in await self._store.cancelling(list(self._active)):
            if wanted := self._active.get(wish.run_id):
                wanted.ask_to_end(wish.grace_s)
        waiting = [run_id for run_id, running in self._active.items() if running.waits]
        for decision in await self._store.approvals.decisions(waiting) if waiting else ():
            if wanted := self._active.get(decision.run_id):
                wanted.decided(decision)

    async def _finish(self, run: Run, ended: RunResult, output: RunOutput) -> Run:
        """Record the end of a run, retrying while the store is unavailable."""
        now, problem = self._clock.now(), ""
        for _ in range(_TRIES):
            try:
                return await self._store.finish(run.id, ended, output, now)
            except StoreUnavailableError as error:
                problem = error.sentence()
                await asyncio.sleep(self._poll_s)
        # The waiting caller still gets the result; the next start corrects the record.
        log.error("recording the end of a run failed", extra={"run": run.id, "reason": problem})
        run = replace(run, status=ended.status, reason=ended.reason, finished_at=now, output=output)
        return replace(run, exit_code=ended.exit_code, signal=ended.signal, error=ended.error)
