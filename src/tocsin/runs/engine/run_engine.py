"""The service that settles and continues the runs that other processes left."""

from collections.abc import Callable

from tocsin.core.service import ServiceLoop
from tocsin.core.time.clock import Clock
from tocsin.runs.engine.settling import DeliveryFollower, RunSettler
from tocsin.runs.service import Runs

LOOK_S = 1.0
FOLLOW_EVERY_S, FOLLOW_UNSENT_EVERY_S = 5.0, 60.0


class RunEngine:
    """Settles and continues runs in every serving process; any number of them may run concurrently."""

    def __init__(
        self,
        runs: Runs,
        settler: RunSettler,
        follower: DeliveryFollower,
        clock: Clock,
        *,
        are_kept: Callable[[], bool],
    ) -> None:
        """`are_kept` returns whether runs may exist; looking for them would create the database."""
        self._runs = runs
        self._settler = settler
        self._follower = follower
        self._clock = clock
        self._are_kept = are_kept
        self._followed_at = self._unsent_followed_at = float("-inf")
        self._loop = ServiceLoop("the run engine", self.step, clock)
        runs.wake_engine = self._loop.wake

    def stop(self) -> None:
        self._loop.stop()

    async def run(self) -> None:
        """Settle and continue runs until `stop`."""
        await self._loop.run()

    async def step(self) -> float:
        """Settle and continue the runs that are due; return the wait until the next step in seconds."""
        if not self._are_kept():
            return LOOK_S
        await self._settler.settle_left()
        await self._runs.resume()
        passed = self._clock.monotonic()
        if passed - self._followed_at >= FOLLOW_EVERY_S:
            self._followed_at = passed
            await self._follower.follow()
        if passed - self._unsent_followed_at >= FOLLOW_UNSENT_EVERY_S:
            self._unsent_followed_at = passed
            await self._follower.follow(unsent=True)
        return LOOK_S
