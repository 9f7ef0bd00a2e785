"""Runs: execute work, record it, cancel it, and clean up after processes that died."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from tocsin.core import short_ids
from tocsin.core.pages import ListPage
from tocsin.core.tasks import to_the_end
from tocsin.core.text.redaction import redact_json
from tocsin.runs.approvals import ButtonPress, Decision, WaitingStep
from tocsin.runs.engine.active_run import ActiveRun, result_of_child
from tocsin.runs.engine.queueing import QueueingExecutor
from tocsin.runs.filters import RunFilter
from tocsin.runs.log_file import LogPage, follow, format_text, page, plain, read_host, read_lines, remove_logs
from tocsin.runs.model import (
    TERMINAL,
    WAITER_ENDED,
    Line,
    OutputDelivery,
    Run,
    RunResult,
    RunSpec,
    RunStatus,
    new_run,
)
from tocsin.runs.recorder import RunHandle, Work
from tocsin.runs.stored_run import RunEndedError, unknown_run

MAX_LOG_LINE = 2**31 - 1  # greater than the number of any other line
KEEP_DAYS, KEEP_PER_SUBJECT, KEEP_FAILED = 30, 200, 500


class Runs(QueueingExecutor):
    """The runs of all processes that share the data directory."""

    async def execute(
        self,
        spec: RunSpec,
        work: Work,
        *,
        watch: Callable[[Line], None] | None = None,
    ) -> Run:
        """Run `work` to its end and return the run. Unlike with `start`, cancelling the caller cancels the work."""
        running = await self.start(spec, work, watch=watch)
        return await running.wait_or_stop()

    def at_work(self) -> bool:
        """Whether this process executes a run that does not wait for a person."""
        return any(not self._waits(running) for running in self._active.values())

    def _waits(self, running: ActiveRun) -> bool:
        children = [self._active[id_] for id_ in running.request.get("children", {}).values() if id_ in self._active]
        return not running.executes and (running.waits or any(self._waits(child) for child in children))

    def release_waiting(self) -> None:
        """Release all runs that wait for a person, so that other processes continue them."""
        for running in [running for running in self._active.values() if self._waits(running)]:
            if self._may_continue(running.run, running.request):
                running.release()

    def now(self) -> float:
        """Return the current time of the clock of runs."""
        return self._clock.now()

    async def record(self, spec: RunSpec, ended: RunResult) -> Run:
        """Record a run that never started: skipped, missed or refused."""
        run = replace(new_run(spec, ended.status, self._clock.now()), reason=ended.reason, error=ended.error)
        await self.store.add(run, self._presence.identity, self._task_of(spec))
        return await self.settle(run)

    async def decide(self, decision: Decision, press: ButtonPress | None = None) -> Decision:
        """Approve or reject a waiting step of a run in any process; return the decision with the name of the step.

        A `press` identifies the run, the step and the chat. Raises UnknownRunError, NotWaitingError, NotApproverError,
        StoreUnavailableError.
        """
        made = await self.store.approvals.decide(decision, press)
        if running := self._active.get(made.run_id):
            running.decided(made)
        return made

    async def recover(self) -> list[Run]:
        """End or release runs whose process has ended or is silent, and kill their children on this host.

        Must be called often. Returns these runs.
        """
        return await self._recovery.recover()

    async def interrupt_runs_of(self, owner: str) -> list[Run]:
        """End the runs of one process that has ended, and kill their children on this host; return these runs."""
        return await self._recovery.interrupt_runs_of(owner)

    async def waiting(self, run_id: str) -> list[WaitingStep]:
        return await self.store.approvals.waiting(run_id)

    async def asked(self, question: str) -> WaitingStep:
        """Return the step that waits for an answer to a question; raises UnknownQuestionError."""
        return await self.store.approvals.asked(question)

    async def set_delivery(self, run_id: str, delivery: OutputDelivery) -> Run:
        """Record the state of a run's output messages, also after its end; raises UnknownRunError."""
        return await self.store.set_delivery(run_id, delivery)

    async def wait(self, run_id: str) -> Run:
        """Wait for the end of a run in any process and return it; raises UnknownRunError."""
        while (run := await self.get(run_id)).status not in TERMINAL:
            if running := self._active.get(run_id):
                await running.wait()
            else:
                await asyncio.sleep(self._poll_s)
        return run

    async def wait_or_stop(self, run_id: str, handle: RunHandle) -> Run:
        """Wait on behalf of another run; cancelling that run cancels this one, unless that run is released."""
        try:
            return await self.wait(run_id)
        except asyncio.CancelledError:
            if not handle.is_released:
                with suppress(RunEndedError):
                    await to_the_end(self.cancel(run_id, WAITER_ENDED))
            raise

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return await self.store.get(run_id)

    def definition(self, run: Run) -> dict[str, Any] | None:
        """Return the executed definition without secrets; `None` if it was not stored."""
        return None if run.snapshot is None else redact_json(run.snapshot, self._redact)

    async def whole_id(self, text: str) -> str:
        """Return the ID that `text` is or abbreviates; raises UnknownRunError, AmbiguousIdError."""
        return await short_ids.resolve_id(text, self.store.matching, unknown_run, "runs")

    async def shortened(self, ids: Sequence[str]) -> dict[str, str]:
        """Return for each ID its shortest unique abbreviation."""
        return await short_ids.shortened(ids, self.store.matching)

    async def search(
        self,
        kind: str | None = None,
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
        """Return up to 200 matching runs."""
        return await self.store.search(wanted)

    async def count_recent(self, kind: str, subject: str, period_s: float) -> int:
        """Return how many runs of a subject were queued within the last `period_s` seconds."""
        return await self.store.count(RunFilter(kind, subject, since=self._clock.now() - period_s))

    async def log(
        self, run_id: str, from_line: int = 1, stream: str = "", *, tail: int = 0, ansi: bool = False
    ) -> LogPage:
        """Return up to 1,000 lines of a run's log, or the last `tail` lines; without escape sequences unless `ansi`."""
        run = await self.get(run_id)

        def read() -> LogPage:
            lines = chain(read_lines(self._log_path(run)), self._pointer(run))
            shown = lines if ansi else plain(lines)
            ended, truncated = run.status in TERMINAL, run.output.truncated
            return page(shown, from_line, stream, ended=ended, truncated=truncated, tail=tail)

        return await asyncio.to_thread(read)

    async def follow(self, run_id: str, from_line: int = 1) -> AsyncIterator[Line]:
        """Yield the lines of a run in any process as they are written, with escape sequences, until it has ended."""
        run = await self.get(run_id)
        path = self._log_path(run)
        for line in self._pointer(run):
            yield line

        async def ended() -> bool:
            return (await self.get(run_id)).status in TERMINAL

        async for line in follow(path, from_line, ended):
            yield line

    def _pointer(self, run: Run) -> list[Line]:
        """Return the line that names the host with the rest of the log; empty if the log is on this host."""
        if run.home in {"", self.store.home} or run.started_at is None:
            return []
        return [
            Line(
                MAX_LOG_LINE, run.started_at, "system", f"the output from here on is on the host {read_host(run.home)}"
            )
        ]

    async def text(self, run_id: str, max_chars: int) -> str:
        """Return the beginning of a run's output, with streams interleaved in the order of arrival."""
        run = await self.get(run_id)
        return await asyncio.to_thread(lambda: format_text(read_lines(self._log_path(run)), max_chars))

    async def prune(self, days: int = KEEP_DAYS, keep: int = KEEP_PER_SUBJECT, keep_failed: int = KEEP_FAILED) -> int:
        """Delete old runs, and all but the newest of each subject, with failed ones apart; return the number."""
        return await self._remove_logs(await self.store.prune(self._clock.now(), days, keep, keep_failed))

    async def forget(self, kind: str, subject: str) -> int:
        """Delete the ended runs of a subject and their logs; return the number."""
        return await self._remove_logs(await self.store.forget(kind, subject))

    async def _remove_logs(self, forgotten: Sequence[Run]) -> int:
        await asyncio.to_thread(remove_logs, [self._log_path(run) for run in forgotten])
        return len(forgotten)


def waiting_for(runs: Runs, child: str) -> Work:
    """Return work that waits for the run `child`; the two runs end together."""

    async def work(handle: RunHandle) -> RunResult:
        ended = await runs.wait_or_stop(child, handle)
        handle.write("stdout", ended.output.tail)
        return result_of_child(ended)

    return work
