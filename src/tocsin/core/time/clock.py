"""Injectable clocks, so that tests need not sleep and rules do not depend on wall time."""

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from asyncio import Event


class Clock(Protocol):
    """Wall time for display, monotonic time for rules, and waiting."""

    def now(self) -> float:
        """Return Unix time in seconds."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; the value never jumps."""

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""


class SystemClock:
    """The clocks of the machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        # asyncio costs 40 ms to import; a command that never waits avoids it.
        import asyncio

        await asyncio.sleep(seconds)


async def sleep_or_event(clock: Clock, seconds: float, until: "Event") -> None:
    """Wait for the time or the event, and at least one turn of the event loop."""
    import asyncio

    if seconds <= 0:
        await asyncio.sleep(0)
        return
    alarm = asyncio.create_task(clock.sleep(seconds))
    ringing = asyncio.create_task(until.wait())
    try:
        await asyncio.wait((alarm, ringing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        alarm.cancel()
        ringing.cancel()
