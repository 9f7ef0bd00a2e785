"""Runs: execute work, record it, cancel it, and clean up after dead processes."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.process.identity import identity_of
from tocsin.core.process.presence import SILENCE_S, Presence
from tocsin.core.process.starting import kill_tree
from tocsin.core.time.clock import Clock
from tocsin.runs.active_run import ActiveRun
from tocsin.runs.log_file import LogPage, page, path_of, read_lines, summary_of, text_of
from tocsin.runs.model import TERMINAL, Line, Run, RunKind, RunOutput, RunResult, RunSpec, RunStatus
from tocsin.runs.output_log import OutputLog
from tocsin.runs.recorder import RunHandle, Work
from tocsin.runs.store import Orphan, RunFilter, RunPage, RunStore

log = logging.getLogger(__name__)

GRACE_S = 10.0  # between SIGTERM and SIGKILL
POLL_S = 1.0  # how soon another process learns that its run is cancelled
KEEP_DAYS, KEEP_PER_SUBJECT = 30, 200
_TRIES = 5  # to record the end of a run
_DEAD = RunResult(RunStatus.INTERRUPTED, "the program that ran it ended before it did")
_SILENT = RunResult(RunStatus.INTERRUPTED, f"the program that ran it was silent for {SILENCE_S:.0f} seconds")


def _unchanged(text: str) -> str:
    return text


class Runs:
    """The runs of all processes that share the data directory."""

    def __init__(
        self,
        store: RunStore,
        directory: Path,
        clock: Clock,
        presence: Presence,
        *,
        redact: Callable[[str], str] = _unchanged,
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
        self._poller: asyncio.Task[None] | None = None

    async def execute(
        self,
        order: RunSpec,
        work: Work,
        *,
        redact: Callable[[str], str] | None = None,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> Run:
        """Run `work` to its end and return the run. Unlike with `start`, cancelling the caller ends the work."""
        running = await self.start(order, work, redact=redact, watch=watch, on_end=on_end)
        try:
            return await running.wait()
        except asyncio.CancelledError:
            await running.stop()
            raise

    async def start(
        self,
        order: RunSpec,
        work: Work,
        *,
        redact: Callable[[str], str] | None = None,
        watch: Callable[[Line], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> ActiveRun:
        """Record a run, start its work and return immediately.

        `redact` replaces the usual masking of secrets, `watch` receives each line, `on_end` the ended run, once.
        Raises StoreUnavailableError, without starting the work.
        """
        run = self._new(order, RunStatus.RUNNING)
        path = path_of(self._directory, run.id, run.queued_at)
        mask = redact or self._redact
        capture = OutputLog(path, order.log_max_bytes, self._clock, mask, watch)
        running = ActiveRun(run, RunHandle(run.id, capture, self._store.set_child), capture, mask, on_end)
        recorded = asyncio.Event()
        running.task = asyncio.create_task(self._carry_out(running, work, recorded))
        try:
            await recorded.wait()
        except asyncio.CancelledError:
            await running.stop()
            raise
        if running.task.done() and run.id not in self._active:
            running.task.result()  # raises: it could not be recorded
        return running

    async def record(self, order: RunSpec, ended: RunResult) -> Run:
        """Record a run that never started: skipped, missed or refused."""
        run = replace(self._new(order, ended.status), reason=ended.reason, error=ended.error)
        await self._store.add(run, self._presence.identity)
        return run

    async def cancel(self, run_id: str, reason: str = "", grace_s: float = GRACE_S) -> Run:
        """Ask a run in any process to end, and return its present record.

        Raises UnknownRunError, RunEndedError, StoreUnavailableError.
        """
        run = await self._store.request_cancel(run_id, reason, grace_s, self._clock.now())
        if running := self._active.get(run_id):
            running.ask_to_end(grace_s)
        return run

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return await self._store.get(run_id)

    async def search(
        self,
        kind: RunKind | None = None,
        subject: str = "",
        status: Collection[RunStatus] = (),
        limit: int = 50,
        cursor: str = "",
    ) -> RunPage:
        """Return the newest matching runs, at most 200 per page; `subject` is a subject's ID."""
        return await self._store.search(RunFilter(kind, subject, status, limit, cursor))

    async def count_recent(self, kind: RunKind, subject: str, period_s: float) -> int:
        """Return how many runs of a subject were queued within the last `period_s` seconds."""
        since = self._clock.now() - period_s
        return await self._store.count(RunFilter(kind, subject, since=since))

    async def log(self, run_id: str, from_line: int = 1, stream: str = "") -> LogPage:
        """Return up to 1,000 lines of a run's log, of one stream or of all; raises UnknownRunError."""
        run = await self.get(run_id)
        path = path_of(self._directory, run.id, run.queued_at)
        ended = run.status in TERMINAL
        truncated = run.output.truncated
        return await asyncio.to_thread(
            lambda: page(read_lines(path), from_line, stream, ended=ended, truncated=truncated)
        )

    async def text(self, run_id: str, max_chars: int) -> str:
        """Return the beginning of a run's output, streams interleaved in the order of arrival."""
        run = await self.get(run_id)
        path = path_of(self._directory, run.id, run.queued_at)
        return await asyncio.to_thread(lambda: text_of(read_lines(path), max_chars))

    async def recover(self) -> list[Run]:
        """End runs whose process has ended, and the children it left at work here; return them.

        To be called every few seconds: a process on another host has ended when it stays silent.
        """
        orphans = await self._store.at_work()
        gone = await self._presence.gone({orphan.owner for orphan in orphans})
        return [await self._take_over(orphan) for orphan in orphans if orphan.owner in gone]

    async def interrupt_runs_of(self, owner: str) -> list[Run]:
        """End the runs of one process that has ended, and the children it left at work here; return them."""
        orphans = [orphan for orphan in await self._store.at_work() if orphan.owner == owner]
        return [await self._take_over(orphan) for orphan in orphans]

    async def prune(self, keep_days: int = KEEP_DAYS, keep: int = KEEP_PER_SUBJECT) -> int:
        """Delete old runs, and all but the newest of each subject; return how many."""
        forgotten = await self._store.prune(self._clock.now() - keep_days * 86400, keep)
        paths = [path_of(self._directory, run.id, run.queued_at) for run in forgotten]
        await asyncio.to_thread(_remove, paths)
        return len(forgotten)

    async def aclose(self) -> None:
        """End all runs of this process, and wait until that is recorded."""
        await asyncio.gather(*(running.stop() for running in list(self._active.values())))

    def _new(self, order: RunSpec, status: RunStatus) -> Run:
        now = self._clock.now()
        return Run(
            id=new_id(),
            kind=order.kind,
            subject_id=order.subject_id,
            subject_name=order.subject_name,
            trigger=order.trigger,
            status=status,
            queued_at=now,
            actor=order.actor,
            attempt=order.attempt,
            max_attempts=order.max_attempts,
            retry_of=order.retry_of,
            parent_run_id=order.parent_run_id,
            scheduled_for=order.scheduled_for,
            started_at=now if status is RunStatus.RUNNING else None,
            finished_at=now if status in TERMINAL else None,
            params=order.params,
            env_keys=order.env_keys,
        )

    async def _carry_out(self, running: ActiveRun, work: Work, recorded: asyncio.Event) -> Run:
        try:
            await self._store.add(running.run, self._presence.identity)
            self._enter(running)
        finally:
            recorded.set()
        try:
            ended = await running.carry_out(work)
            run = await self._finish(running.run, ended, running.capture.close())
        finally:
            self._leave(running)
        if running.on_end:
            running.on_end(run)
        return run

    def _enter(self, running: ActiveRun) -> None:
        self._active[running.run.id] = running
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())

    def _leave(self, running: ActiveRun) -> None:
        del self._active[running.run.id]
        if not self._active and self._poller:
            self._poller.cancel()
            self._poller = None

    async def _poll(self) -> None:
        """Update log files and this process's presence, and end runs whose cancellation another process requested."""
        while True:
            await asyncio.sleep(self._poll_s)
            for running in self._active.values():
                running.capture.refresh()
            with suppress(StoreUnavailableError):  # the next poll may work; its users report the failure
                await self._presence.beat()
                for wish in await self._store.cancelling(list(self._active)):
                    if wanted := self._active.get(wish.run_id):
                        wanted.ask_to_end(wish.grace_s)

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
        return replace(
            run,
            status=ended.status,
            reason=ended.reason,
            finished_at=now,
            exit_code=ended.exit_code,
            signal=ended.signal,
            output=output,
            error=ended.error,
        )

    async def _take_over(self, orphan: Orphan) -> Run:
        run = orphan.run
        pid = orphan.child.partition(":")[0]
        if pid.isdecimal() and identity_of(int(pid)) == orphan.child:
            await kill_tree(int(pid))
        path = path_of(self._directory, run.id, run.queued_at)
        output = await asyncio.to_thread(lambda: summary_of(read_lines(path)))
        log.warning("a run was interrupted", extra={"run": run.id, "subject": run.subject_name})
        ended = _DEAD if self._presence.is_dead(orphan.owner) else _SILENT
        return await self._store.finish(run.id, ended, output, self._clock.now())


def _remove(paths: Sequence[Path]) -> None:
    """Delete logs, and the folders of months that are empty."""
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        with suppress(OSError):  # not empty
            folder.rmdir()
