"""Start the bus once a Redis appears at the default address, if the settings name none."""

from collections.abc import Awaitable, Callable

from tocsin.core.service import StopEvent
from tocsin.core.time.clock import Clock
from tocsin.delivery.bus.bus import Bus

LOOK_EVERY_S = 30.0


class LateBus:
    """Waits for a Redis, then runs the bus."""

    def __init__(self, is_there: Callable[[], Awaitable[bool]], make: Callable[[], Bus], clock: Clock) -> None:
        """Call `make` once, when `is_there` has returned True."""
        self._is_there = is_there
        self._make = make
        self._clock = clock
        self._stopping = StopEvent()
        self._bus: Bus | None = None

    @property
    def state(self) -> str:
        """Return `off` while there is no Redis, else `ok` or `failing`, for `/health`."""
        return "off" if self._bus is None else "failing" if self._bus.problem else "ok"

    def stop(self) -> None:
        """Stop waiting for a Redis, or stop the bus."""
        self._stopping.set()
        if self._bus is not None:
            self._bus.stop()

    async def run(self) -> None:
        """Wait for a Redis, then run the bus until `stop`."""
        while not self._stopping.is_set():
            if not await self._is_there():
                await self._stopping.pause(self._clock, LOOK_EVERY_S)
            elif not self._stopping.is_set():
                self._bus = self._make()
                await self._bus.run()
                return
