"""The loop of everything that runs until it is told to stop."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.service import BACK_OFF_S, DRAIN_S, ServiceLoop, StopEvent
from tocsin.testing.fakes import FakeClock

AWAY = StoreUnavailableError("the store is away", hint="start it")


class Steps:
    """Steps that rest for `wait_s`; `script` gives what the next ones raise, or call."""

    def __init__(self, wait_s: float = 10.0) -> None:
        self.wait_s = wait_s
        self.made = 0
        self.script: list[Exception | Callable[[], Awaitable[None]]] = []

    async def __call__(self) -> float:
        self.made += 1
        todo = self.script.pop(0) if self.script else None
        if isinstance(todo, Exception):
            raise todo
        if todo is not None:
            await todo()
        return self.wait_s


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def steps() -> Steps:
    return Steps()


@asynccontextmanager
async def running(*loops: ServiceLoop) -> AsyncIterator[None]:
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop.run())
        try:
            yield
        finally:
            for loop in loops:
                loop.stop()


def messages(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


async def test_a_step_is_followed_by_the_rest_that_it_asks_for(clock: SteppedClock, steps: Steps):
    async with running(ServiceLoop("it", steps, clock)):
        for made in (1, 2, 3):
            await clock.until_asleep(10)
            clock.advance(9)
            assert steps.made == made
            clock.advance(1)
            await eventually(lambda made=made: steps.made > made)


async def test_a_wake_up_ends_a_rest_and_one_in_the_middle_of_a_step_is_not_lost(clock: SteppedClock, steps: Steps):
    async def queue_something() -> None:
        loop.wake()

    loop = ServiceLoop("it", steps, clock)
    async with running(loop):
        await clock.until_asleep(10)
        steps.script = [queue_something]
        loop.wake()
        await eventually(lambda: steps.made == 3)


async def test_a_loop_that_is_stopped_before_it_runs_makes_no_step(clock: SteppedClock, steps: Steps):
    loop = ServiceLoop("it", steps, clock)
    loop.stop()
    await loop.run()
    assert (steps.made, loop.stopping) == (0, True)


async def test_failures_are_followed_by_longer_and_longer_waits_until_a_step_works(steps: Steps):
    clock = FakeClock()
    steps.script = [AWAY, AWAY, AWAY, AWAY, ten(), AWAY, stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, clock)
    await loop.run()
    assert clock.slept[:6] == [*BACK_OFF_S, BACK_OFF_S[-1], 10.0, BACK_OFF_S[0]]


def ten() -> Callable[[], Awaitable[None]]:
    async def step() -> None:
        pass

    return step


def stopping(loop: Callable[[], ServiceLoop]) -> Callable[[], Awaitable[None]]:
    async def step() -> None:
        loop().stop()

    return step


async def test_a_wake_up_does_not_end_a_back_off_and_a_stop_does(clock: SteppedClock, steps: Steps):
    steps.script = [AWAY]
    loop = ServiceLoop("it", steps, clock, back_off_s=(100.0,))
    async with running(loop):
        await clock.until_asleep(100)
        loop.wake()
        for _ in range(20):
            await asyncio.sleep(0)
        assert steps.made == 1
    assert steps.made == 1


async def test_an_outage_is_told_at_its_beginning_and_at_its_end(steps: Steps, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    problems: list[str] = []

    async def look() -> None:
        problems.append(loop.problem)

    steps.script = [AWAY, AWAY, AWAY, look, ten(), AWAY, stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, FakeClock())
    await loop.run()
    began, ended = ("WARNING", "a service failed and will be retried"), ("INFO", "a service has recovered")
    assert messages(caplog) == [began, ended, began, ended]
    assert (problems, loop.problem) == ([AWAY.sentence()], "")


async def test_a_bug_of_a_step_ends_nothing_and_has_its_trace_in_the_log_once(
    steps: Steps, caplog: pytest.LogCaptureFixture
):
    steps.script = [ValueError("a bug"), ValueError("a bug"), AWAY, stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, FakeClock())
    await loop.run()
    assert [(record.levelname, bool(record.exc_info)) for record in caplog.records] == [
        ("ERROR", True),
        ("WARNING", False),
    ]


async def test_whoever_is_told_of_a_failure_may_say_how_long_to_wait(steps: Steps, caplog: pytest.LogCaptureFixture):
    told: list[tuple[Exception, int]] = []
    answers = iter([7.0, None, 0.0])

    async def on_failure(error: Exception, before: int) -> float | None:
        told.append((error, before))
        return next(answers)

    clock = FakeClock()
    steps.script = [AWAY, AWAY, AWAY, stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, clock, on_failure=on_failure)
    await loop.run()
    assert told == [(AWAY, 0), (AWAY, 1), (AWAY, 2)]
    assert clock.slept[:2] == [7.0, BACK_OFF_S[1]]
    assert messages(caplog) == []


async def test_a_step_that_lasts_can_say_that_it_works(steps: Steps):
    clock = FakeClock()

    async def work_then_fail() -> None:
        loop.works()
        raise AWAY

    steps.script = [AWAY, AWAY, work_then_fail, stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, clock)
    await loop.run()
    assert clock.slept[:3] == [BACK_OFF_S[0], BACK_OFF_S[1], BACK_OFF_S[0]]


async def test_a_pause_of_its_own_replaces_every_rest(clock: SteppedClock, steps: Steps):
    rests: list[float] = []

    async def pause(seconds: float) -> None:
        rests.append(seconds)

    steps.script = [AWAY, ten(), stopping(lambda: loop)]
    loop = ServiceLoop("it", steps, clock, pause=pause)
    await loop.run()
    assert rests == [BACK_OFF_S[0], 10.0, 10.0]


async def test_what_is_started_wakes_the_loop_when_it_ends(clock: SteppedClock, steps: Steps):
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()

    async def start() -> None:
        loop.start(work(), name="work")

    steps.script = [start]
    loop = ServiceLoop("it", steps, clock)
    async with running(loop):
        await clock.until_asleep(10)
        gate.set()
        await eventually(lambda: steps.made == 2)


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_stop_lets_what_was_started_end_for_some_seconds(clock: SteppedClock, steps: Steps, in_time: bool):
    gate, ends = asyncio.Event(), []

    async def work() -> None:
        try:
            await gate.wait()
            ends.append("finished")
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    async def start() -> None:
        loop.start(work(), name="work")

    steps.script, steps.wait_s = [start], 1.0
    loop = ServiceLoop("it", steps, clock)
    async with running(loop):
        await clock.until_asleep(1)
        loop.stop()
        if in_time:
            gate.set()
        else:
            await clock.until_asleep(DRAIN_S)
            clock.advance(DRAIN_S)
    assert (ends, steps.made) == (["finished" if in_time else "cancelled"], 1)


async def test_loops_that_share_a_stop_event_end_together(clock: SteppedClock, steps: Steps):
    stop = StopEvent()
    loops = [ServiceLoop(name, steps, clock, stop=stop) for name in ("one", "two")]
    async with asyncio.timeout(PATIENCE_S):
        both = asyncio.gather(*(loop.run() for loop in loops))
        await eventually(lambda: steps.made == 2)
        stop.set()
        await both
    assert all(loop.stopping for loop in loops)


# --- the stop event


async def test_a_stop_gives_up_what_is_waited_for_and_cancels_it():
    stop, cancelled = StopEvent(), asyncio.Event()

    async def wait_for_ever() -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiting = asyncio.create_task(stop.or_done(wait_for_ever()))
    await asyncio.sleep(0)
    stop.set()
    assert await waiting is None
    assert cancelled.is_set()


async def test_what_ends_before_the_stop_is_returned_and_its_errors_are_raised():
    async def answer() -> int:
        return 42

    async def fail() -> int:
        raise AWAY

    stop = StopEvent()
    assert await stop.or_done(answer()) == 42
    with pytest.raises(StoreUnavailableError):
        await stop.or_done(fail())


async def test_a_pause_ends_with_its_time_or_with_the_stop(clock: SteppedClock):
    stop = StopEvent()
    first = asyncio.create_task(stop.pause(clock, 5))
    await clock.until_asleep(5)
    clock.advance(5)
    await first
    second = asyncio.create_task(stop.pause(clock, 5))
    await clock.until_asleep(5)
    stop.set()
    await second
    await stop.wait()
    assert stop.is_set()
