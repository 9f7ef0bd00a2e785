"""A time that all hosts share, stored in Redis: the clocks of hosts are never compared.

A script that includes the library `TIME` receives it as `at`; it calls `keep_time()` if it writes, and returns `at`
first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tocsin.core.storage.redis_client import Argument, RedisClient, Script
from tocsin.core.time.clock import Clock

TIME = str(Path(__file__).parent / "lua" / "time")  # a library for `load_script`
MICRO = 1_000_000


def micro(seconds: float) -> int:
    return round(seconds * MICRO)


class TimedScripts:
    """Runs the scripts of a store, and passes each the time as this process knows it."""

    def __init__(self, client: RedisClient, prefix: bytes, clock: Clock) -> None:
        """Prefix all keys with `prefix`, which has a hash tag: a script uses one slot of a cluster."""
        self._client = client
        self._prefix = prefix
        self._clock = clock
        self._ahead: int | None = None  # ahead of this process's monotonic clock

    async def run(self, script: Script, args: Sequence[Argument]) -> Any:
        """Run a script and return its result after the time."""
        hint: Argument = "" if self._ahead is None else micro(self._clock.monotonic()) + self._ahead
        at, *answers = await self._client.run(script, [self._prefix], [hint, *args])
        # An offset that is measured after the answer is never too large, so the largest is the most accurate.
        ahead = int(at) - micro(self._clock.monotonic())
        self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)
        return answers
