"""The clock that only a test moves, and on which what sleeps stays asleep."""

import asyncio
import heapq
from itertools import count

from tests.waiting import eventually

from tocsin.testing.fakes import FakeClock

# A Friday at noon in UTC.
START = 1_795_176_000.0


class SteppedClock(FakeClock):
    """Sleepers wake when the test lets time pass; `slept` lists what they asked for."""

    def __init__(self, start: float = START, *, monotonic: float | None = None) -> None:
        super().__init__(start, monotonic=monotonic)
        self._numbers = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + seconds, next(self._numbers), future))
        await future

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        while (at := self.next_wake()) is not None and at <= self.monotonic():
            heapq.heappop(self._sleepers)[2].set_result(None)

    def advance_unnoticed(self, seconds: float) -> None:
        """Advance by `seconds` and wake no sleeper, as a process that is stopped for a while."""
        super().advance(seconds)

    def next_wake(self) -> float | None:
        """Return when the next sleeper wakes, by the monotonic clock."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def asleep(self, count: int = 1) -> float:
        """Wait until so many sleep, and return for how long at least."""

        def wakes_at() -> float | None:
            self._sleepers = sorted(sleeper for sleeper in self._sleepers if not sleeper[2].done())
            return self._sleepers[0][0] if len(self._sleepers) >= count else None

        return float(await eventually(wakes_at)) - self.monotonic()

    async def until_asleep(self, seconds: float) -> None:
        """Wait until one sleeps for at least so long."""
        await eventually(lambda: any(at >= self.monotonic() + seconds for at, _, _ in self._sleepers))
