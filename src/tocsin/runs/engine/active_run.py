"""An active run of this process, and the release or interruption of runs when the process stops."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.service import StopEvent
from tocsin.core.tasks import to_the_end
from tocsin.core.time.clock import Clock
from tocsin.runs.approvals import Decision
from tocsin.runs.model import WAS_STOPPED, Line, Run, RunResult, RunSpec, RunStatus
from tocsin.runs.output_log import OutputLog
from tocsin.runs.recorder import RunHandle, Work
from tocsin.runs.stored_run import RunEndedError, unknown_run

log = logging.getLogger(__name__)

STOP_GRACE_S = 2.0  # between SIGTERM and SIGKILL when this program stops
DRAIN_S = 30.0  # the time that running work may take when a service is asked to stop
_LOOK_S = 0.1
_STOPPED = RunResult(RunStatus.INTERRUPTED, WAS_STOPPED)


class ActiveRun:
    """Executes one run, and cancels it on request."""

    def __init__(
        self,
        run: Run,
        handle: RunHandle,
        capture: OutputLog,
        redact: Callable[[str], str],
    ) -> None:
        self.run = run
        self.capture = capture
        self.task: asyncio.Task[Run]  # does the work and records its end
        self._handle = handle
        self._redact = redact
        self._body: asyncio.Future[RunResult] | None = None
        self._asked = self._stopped = False

    @property
    def is_released(self) -> bool:
        """Whether another process continues the run."""
        return self._handle.is_released

    async def wait(self) -> Run:
        return await asyncio.shield(self.task)

    async def wait_or_stop(self) -> Run:
        """Return the run once it has ended; cancelling this call also cancels the run."""
        try:
            return await self.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Cancel the work because the program stops, and wait until that is recorded."""
        self._stopped = True
        self.ask_to_end(grace_s)
        await to_the_end(self._stop(grace_s))

    @property
    def request(self) -> Mapping[str, Any]:
        """The data from which the work of the run is recreated."""
        return self._handle.request

    def release(self) -> None:
        """Cancel the work so that another process continues the run; `wait` then returns its unfinished record."""
        self._handle.is_released = self._asked = True
        if self._body is not None:
            self._body.cancel()

    def ask_to_end(self, grace_s: float) -> None:
        """Ask the work to end, or cancel it if it set no `on_cancel` callback."""
        if self._asked:
            return
        self._asked = True
        if not self._handle.ask_to_end(grace_s) and self._body is not None:
            self._body.cancel()

    @property
    def waits(self) -> bool:
        """Whether a step waits for a person."""
        return self._handle.waits

    @property
    def executes(self) -> bool:
        """Whether a part of the work does more than wait."""
        return self._handle.executes()

    def decided(self, decision: Decision) -> None:
        """Continue a waiting step after its decision."""
        self._handle.decided(decision)

    async def execute(self, work: Work) -> RunResult:
        """Do the work and return its result; never raises."""
        if self._asked:
            return _STOPPED
        self._body = asyncio.ensure_future(work(self._handle))
        try:
            ended = await self._body
        except asyncio.CancelledError:
            ended = _STOPPED
        except TocsinError as error:
            ended = _failed(error.code, error.sentence())
        except Exception as error:  # a bug in the work must not leave a run without an end
            log.exception("a run failed unexpectedly", extra={"run": self.run.id})
            ended = _failed(
                "internal-error", f"unexpected {type(error).__name__}: this is a bug, see the log for details"
            )
        return self._masked(_STOPPED if self._stopped else ended)

    async def _stop(self, grace_s: float) -> None:
        await asyncio.wait([self.task], timeout=grace_s + STOP_GRACE_S)
        if self._body is not None:
            self._body.cancel()
        await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.exception()  # retrieved here; `wait` raises it

    def _masked(self, ended: RunResult) -> RunResult:
        reason = None if ended.reason is None else self._redact(ended.reason)
        error = None if ended.error is None else {name: self._redact(text) for name, text in ended.error.items()}
        return replace(ended, reason=reason, error=error)


class PendingRun:
    """A run of this process that waits for earlier ones."""

    def __init__(self, run: Run, spec: RunSpec, work: Work, watch: Callable[[Line], None] | None) -> None:
        self.run = run
        self.spec = spec
        self.work = work
        self.watch = watch
        # Raises RunEndedError for a run that was cancelled before its turn, UnknownRunError for a deleted one.
        self.begun: asyncio.Future[ActiveRun] = asyncio.get_running_loop().create_future()

    def begin(self, running: ActiveRun) -> None:
        self.run = running.run
        if not self.begun.done():
            self.begun.set_result(running)

    def fail(self, run: Run | None) -> None:
        """Report that the run has ended before its turn; `None` if it was deleted."""
        error: TocsinError = unknown_run(self.run.id)
        if run is not None:
            self.run = run
            error = RunEndedError(f"the run {run.id} cannot begin: it is {run.status}", hint="start it again")
        if not self.begun.done():
            self.begun.set_exception(error)
            self.begun.exception()  # it is retrieved, also where only the end is waited for

    async def wait(self) -> Run:
        try:
            running = await asyncio.shield(self.begun)
        except RunEndedError:
            return self.run
        return await running.wait()


class RunsDrain:
    """Delays the stop of a process by up to half a minute while it executes runs.

    Without it, runs started by hand would be cancelled at once, while those of the scheduler may finish.
    """

    def __init__(
        self, at_work: Callable[[], bool], clock: Clock, release_waiting: Callable[[], None] = lambda: None
    ) -> None:
        """`at_work` returns whether any run will end without a person; the others are released at a stop."""
        self._at_work = at_work
        self._release_waiting = release_waiting
        self._clock = clock
        self._stop = StopEvent()

    def stop(self) -> None:
        """Let `run` return when running work has ended, or after half a minute."""
        self._release_waiting()
        self._stop.set()

    async def run(self) -> None:
        """Wait for `stop`, and then for the end of running work; closing the program interrupts the rest."""
        await self._stop.wait()
        give_up_at = self._clock.monotonic() + DRAIN_S
        while self._at_work() and self._clock.monotonic() < give_up_at:
            await self._clock.sleep(_LOOK_S)


def show_child(handle: RunHandle, child: Run) -> RunResult:
    """Record the run that did the work of a skill, and the end of its output; return its result as that of this run."""
    handle.write("system", f"run {child.id} of the {child.kind} {child.subject_name}\n")
    handle.write("stdout", child.output.tail)
    return result_of_child(child)


async def follow_child(handle: RunHandle, name: str, child: ActiveRun) -> RunResult:
    """Wait for a run that does the work of this one, recorded under `name`; the two end together."""
    await handle.amend_child(name, child.run.id)
    ended = await child.wait_or_stop()
    handle.write("stdout", ended.output.tail)
    return result_of_child(ended)


def result_of_child(child: Run) -> RunResult:
    """Return the result of an ended run that did the work of another one."""
    reason = None if child.ok else f"run {child.id} {child.status}" + (f": {child.reason}" if child.reason else "")
    return RunResult(child.status, reason, child.exit_code, child.signal, child.error)


def _failed(code: str, sentence: str) -> RunResult:
    return RunResult(RunStatus.FAILED, sentence, error={"code": code, "message": sentence})
