"""The loop of everything that runs until it is told to stop: step, rest, back off while that fails, drain.

    self._loop = ServiceLoop("the scheduler", self._step, clock)

    async def _step(self) -> float:
        for due in await self._store.due():
            self._loop.start(self._carry_out(due), name=f"run {due.id}")
        return await self._store.seconds_to_next()

A step does, or starts, what is due now, and returns for how many seconds nothing more can be due. Long work is
passed to `start`, so that no step waits for it. `wake` ends a rest early, `stop` ends the service.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock, sleep_or_event

log = logging.getLogger(__name__)

T = TypeVar("T")

# Work that is given up may still close its connection; work that swallows its cancellation is left behind.
GIVING_UP_S = 1.0
BACK_OFF_S = (0.5, 1.0, 2.0)
# At a stop, work that was started may finish for so long.
DRAIN_S = 5.0

Step = Callable[[], Awaitable[float]]
# Gets the error and how many came right before it; returns how long to wait, or None for the usual back-off.
OnFailure = Callable[[Exception, int], Awaitable[float | None]]


class StopEvent:
    """Set once, from the same event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """Stop."""
        self._event.set()
        for callback in self._callbacks:
            callback()

    def is_set(self) -> bool:
        """Whether it is time to stop."""
        return self._event.is_set()

    def on_set(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the event is set."""
        self._callbacks.append(callback)

    async def wait(self) -> None:
        """Wait until it is time to stop."""
        await self._event.wait()

    async def pause(self, clock: Clock, seconds: float) -> None:
        """Wait that long, or until it is time to stop."""
        await sleep_or_event(clock, seconds, self._event)

    async def or_done(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` returns, or None when it is time to stop first; then `work` is cancelled."""
        working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            await _give_up(working, stopped)


class BackgroundService(Protocol):
    """What runs in a process beside its listeners."""

    async def run(self) -> None:
        """Return after `stop` was called."""

    def stop(self) -> None:
        """Let `run` return soon."""


class ServiceLoop:
    """Calls a step again and again until it is stopped; no error of a step ends it.

    By default an outage is two lines in the log, its beginning and its end, and waits are those of `back_off_s`.
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
        """`name` is for the log. `on_failure` replaces the report of a failure, and may say how long to wait.

        `pause` replaces the rest between steps: `wake` does not end it. With `stop`, several loops end together.
        """
        self.problem = ""  # why the last step failed, in a sentence; health shows it
        self._name = name
        self._step = step
        self._clock = clock
        self._on_failure = on_failure or self._report
        self._pause = pause
        self._back_off_s = back_off_s
        self._drain_s = drain_s
        self._failures = 0  # in a row
        self._reported = ""
        self._group: asyncio.TaskGroup
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stop = stop or StopEvent()
        self._stop.on_set(self.wake)

    @property
    def stopping(self) -> bool:
        """Whether the service was told to stop: a step should take nothing more."""
        return self._stop.is_set()

    def wake(self) -> None:
        """End the rest after a step, or have another step follow the one that runs; a back-off goes on."""
        self._wake.set()

    def stop(self) -> None:
        """Make no more steps; `run` returns when what was started has ended, or after `drain_s`."""
        self._stop.set()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Have `work` done beside the steps, while `run` runs; its end wakes the loop.

        Its errors are its own: one that it lets out ends the service.
        """
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def works(self) -> None:
        """Note that there is no problem, as the end of a step does; for steps that last."""
        if self._reported:
            log.info("a service has recovered", extra={"service": self._name})
        self._failures, self.problem, self._reported = 0, "", ""

    async def run(self) -> None:
        """Make steps until `stop`, then let what was started finish; what does not in time is cancelled."""
        async with asyncio.TaskGroup() as self._group:
            while not self.stopping:
                await self._turn()
            await self._drain()

    async def _turn(self) -> None:
        failed = False
        try:
            wait_s = await self._step()
        except Exception as error:  # noqa: BLE001  # the service goes on, whatever its step raises
            failed, wait_s = True, await self._fail(error)
        else:
            self.works()
        await self._rest(wait_s, until_stop=failed)

    async def _fail(self, error: Exception) -> float:
        """Have the error reported; return how long to wait."""
        before, self._failures = self._failures, self._failures + 1
        self.problem = error.sentence() if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}"
        wait_s = await self._on_failure(error, before)
        return self._back_off_s[min(before, len(self._back_off_s) - 1)] if wait_s is None else wait_s

    async def _report(self, error: Exception, _: int) -> None:
        """Warn of an expected error in its sentence, log any other with its trace; the same one only once."""
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
        # Whatever wakes us from here on is seen by the next step.
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
            task.exception()  # looked at, so that asyncio does not report it as forgotten
