"""Time as a part that is handed in, so that no test sleeps and no rule depends on the wall clock."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for people, monotonic time for rules, and waiting."""

    def now(self) -> float:
        """Return Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start that never jumps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        # asyncio costs 40 ms to import; a command that never waits does not pay for it.
        import asyncio

        await asyncio.sleep(seconds)
