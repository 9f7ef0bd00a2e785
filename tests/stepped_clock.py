"""Time that moves only when a test lets it pass."""

import asyncio
import heapq
from itertools import count

from tests.waiting import eventually

from tocsin.testing.fakes import FakeClock


class SteppedClock(FakeClock):
    """Sleepers wake when the test lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + seconds, next(self._numbers), future))
        await future

    async def until_asleep(self, seconds: float) -> None:
        """Wait until somebody sleeps for at least so long."""
        await eventually(lambda: any(at >= self.monotonic() + seconds for at, _, _ in self._sleepers))

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        while self._sleepers and self._sleepers[0][0] <= self.monotonic():
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)
