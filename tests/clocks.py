"""A clock that only a test moves, and on which what sleeps stays asleep."""

import asyncio

from tests.waiting import eventually

from tocsin.testing.fakes import FakeClock

# A Friday at noon in UTC.
START = 1_795_176_000.0


class WallClock(FakeClock):
    """Time that passes only when a test lets it; the wall clock can be set besides."""

    def __init__(self, start: float = START) -> None:
        super().__init__(start)
        self._set_by = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now + self._set_by

    def jump(self, seconds: float) -> None:
        """Set the wall clock, as people and time servers do."""
        self._set_by += seconds

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.monotonic() + seconds, future))
        await future

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        for at, future in self._sleepers:
            if at <= self.monotonic() and not future.done():
                future.set_result(None)

    async def asleep(self, count: int = 1) -> float:
        """Wait until so many sleep, and return for how long at least."""

        def wakes_at() -> float | None:
            self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]
            return min(at for at, _ in self._sleepers) if len(self._sleepers) >= count else None

        return float(await eventually(wakes_at)) - self.monotonic()
