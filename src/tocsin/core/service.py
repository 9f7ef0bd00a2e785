"""The loop of background services: run a step, wait, back off after errors, drain at the stop.

    self._loop = ServiceLoop("the scheduler", self._step, clock)

    async def _step(self) -> float:
        for due in await self._store.due():
            self._loop.start(self._carry_out(due), name=f"run {due.id}")
        return await self._store.seconds_to_next()

A step does or starts the work that is due, and returns the seconds until more can be due. Long work is passed to
`start`, so that no step waits for it. `wake` ends a wait early, `stop` ends the service.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock, sleep_or_event

log = logging.getLogger(__name__)

T = TypeVar("T")

# Cancelled work may still close its connection; work that suppresses its cancellation is abandoned.
GIVING_UP_S = 1.0
BACK_OFF_S = (0.5, 1.0, 2.0)
# At a stop, started work may take this long to finish.
DRAIN_S = 5.0

Step = Callable[[], Awaitable[float]]
# Takes the error and the number of failures right before it; returns the seconds to wait, or None to back off.
OnFailure = Callable[[Exception, int], Awaitable[float | None]]


class StopEvent:
    """An event that is set once, from its own event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        self._event.set()
        for callback in self._callbacks:
            callback()

    def is_set(self) -> bool:
        return self._event.is_set()

    def on_set(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the event is set."""
        self._callbacks.append(callback)

    async def wait(self) -> None:
        await self._event.wait()

    async def pause(self, clock: Clock, seconds: float) -> None:
        """Wait for `seconds`, or until the event is set."""
        await sleep_or_event(clock, seconds, self._event)

    async def or_done(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`, or cancel it and return `None` when the event is set first."""
        working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            await _give_up(working, stopped)


class BackgroundService(Protocol):
    """A service that runs in a process beside its listeners."""

    async def run(self) -> None:
        """Run until `stop` is called."""

    def stop(self) -> None:
        """Make `run` return soon."""


class ServiceLoop:
    """Calls a step repeatedly until the stop; an error of a step does not end the loop.

    By default, an outage is logged twice, at its beginning and at its end, and the waits after failures are
    `back_off_s`.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        clock: Clock,
        *,
        on_failure: OnFailure | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
        back_off_s: Sequence[float] = BACK_OFF_S,
        drain_s: float = DRAIN_S,
        stop: StopEvent | None = None,
    ) -> None:
        """Create a loop; `name` is for the log.

        `on_failure` replaces the logging of a failure, and may return the seconds to wait. `pause` replaces the wait
        between steps; `wake` does not end it. Loops that share `stop` end together.
        """
        self.problem = ""  # why the last step failed, as a sentence; health checks report it
        self._name = name
        self._step = step
        self._clock = clock
        self._on_failure = on_failure or self._report
        self._pause = pause
        self._back_off_s = back_off_s
        self._drain_s = drain_s
        self._failures = 0  # consecutive failures
        self._reported = ""
        self._group: asyncio.TaskGroup
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stop = stop or StopEvent()
        self._stop.on_set(self.wake)

    @property
    def stopping(self) -> bool:
        """Whether the service is stopping: a step should not begin new work."""
        return self._stop.is_set()

    def wake(self) -> None:
        """End the wait after a step, or skip the wait after the running step; a back-off continues."""
        self._wake.set()

    def stop(self) -> None:
        """Run no more steps; `run` returns when started work has ended, or after `drain_s`."""
        self._stop.set()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run `work` beside the steps while `run` runs; its end wakes the loop.

        `work` handles its own errors: an exception that it raises ends the service.
        """
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def works(self) -> None:
        """Clear the problem, as a successful step does; for long-running steps."""
        if self._reported:
            log.info("a service has recovered", extra={"service": self._name})
        self._failures, self.problem, self._reported = 0, "", ""

    async def run(self) -> None:
        """Run steps until `stop`, then wait for started work and cancel it when `drain_s` is over."""
        async with asyncio.TaskGroup() as self._group:
            while not self.stopping:
                await self._turn()
            await self._drain()

    async def _turn(self) -> None:
        failed = False
        try:
            wait_s = await self._step()
        except Exception as error:  # noqa: BLE001  # the service continues after any error of a step
            failed, wait_s = True, await self._fail(error)
        else:
            self.works()
        await self._rest(wait_s, until_stop=failed)

    async def _fail(self, error: Exception) -> float:
        """Report the error; return the seconds to wait."""
        before, self._failures = self._failures, self._failures + 1
        self.problem = error.sentence() if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}"
        wait_s = await self._on_failure(error, before)
        return self._back_off_s[min(before, len(self._back_off_s) - 1)] if wait_s is None else wait_s

    async def _report(self, error: Exception, _: int) -> None:
        """Log an expected error as a warning, any other with its traceback; log repetitions of an error once."""
        if self.problem == self._reported:
            return
        self._reported = self.problem
        facts = {"service": self._name, "reason": self.problem}
        if isinstance(error, TocsinError):
            log.warning("a service failed and will be retried", extra=facts)
        else:
            log.error("a service failed and will be retried", exc_info=error, extra=facts)

    async def _rest(self, seconds: float, *, until_stop: bool = False) -> None:
        if self._pause is not None:
            await self._pause(seconds)
        elif until_stop:
            await self._stop.pause(self._clock, seconds)
        else:
            await sleep_or_event(self._clock, seconds, self._wake)
        # The next step sees every change that wakes the loop from here on.
        self._wake.clear()

    async def _drain(self) -> None:
        give_up_at = self._clock.monotonic() + self._drain_s
        while self._tasks and (left_s := give_up_at - self._clock.monotonic()) > 0:
            await sleep_or_event(self._clock, left_s, self._wake)
            self._wake.clear()
        for task in self._tasks:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.wake()


async def _give_up(*tasks: asyncio.Future[Any]) -> None:
    given_up = [task for task in tasks if task.cancel()]
    if not given_up:
        return
    done, _ = await asyncio.wait(given_up, timeout=GIVING_UP_S)
    for task in done:
        if not task.cancelled():
            task.exception()  # retrieve it, so that asyncio does not log it as never retrieved
