"""Token buckets in Redis that all hosts share, and that never delay a request for long.

Each process also has buckets of its own: a request that these reject is rejected without a call to Redis, and they
decide alone while Redis does not answer in time. Concurrent calls share one script, so all buckets are in one slot of a
cluster.
"""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import RateLimiter

log = logging.getLogger(__name__)

# The longest delay of a request; several hundred times the duration of a call.
WAIT_S = 0.05
# After a failed or late call, processes use their own buckets for this long.
PAUSE_S = 1.0
# Buckets per script: some hundred microseconds of the server's time.
AT_ONCE = 100

_LUA = Path(__file__).parent / "lua"
_TAKE = replace(load_script(_LUA, "take", MINUTE_US=60_000_000), fleeting=True)


class _Asked(NamedTuple):
    key: str
    per_minute: int
    left: "asyncio.Future[float | None]"


class SharedBuckets:
    """Takes tokens from buckets in Redis, in batches; a late or failed call decides nothing."""

    def __init__(self, client: RedisClient, clock: Clock, *, prefix: str = "tocsin", wait_s: float = WAIT_S) -> None:
        self._client = client
        self._clock = clock
        self._prefix = f"{{{prefix}:limits}}:"
        self._wait_s = wait_s
        self._waiting: list[_Asked] = []
        self._call: asyncio.Task[None] | None = None
        self._given_up = False  # the current call is late, and is no longer awaited
        self._again_at = 0.0  # monotonic: no call is made before
        self._works = True

    async def take(self, key: str, per_minute: int) -> float | None:
        """Take a token of `key`; return the number left, -1 if there was none, `None` if Redis is too slow."""
        if self._given_up or self._clock.monotonic() < self._again_at:
            return None
        asked = _Asked(self._prefix + key, per_minute, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._call is None:
            self._begin()
        if not self._works:
            asked.left.cancel()
            return None  # this call probes Redis in the background
        return await asked.left

    def _begin(self) -> None:
        batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        self._call = asyncio.create_task(self._ask(batch))

    async def _ask(self, batch: list[_Asked]) -> None:
        timer = asyncio.get_running_loop().call_later(self._wait_s, self._give_up, batch)
        try:
            keys, limits = [asked.key for asked in batch], [asked.per_minute for asked in batch]
            answers = await self._client.run(_TAKE, keys, limits)
        except StoreUnavailableError as error:
            self._fail(error.sentence())
        else:
            self._tell(batch, answers)
        finally:
            timer.cancel()
            self._call, self._given_up = None, False
            _release(batch)
            if self._waiting:
                self._begin()

    def _tell(self, batch: list[_Asked], answers: list[int]) -> None:
        if self._given_up:  # a late answer: the next one may be in time
            self._again_at = self._clock.monotonic() + PAUSE_S
            return
        if not self._works:
            log.info("rate limits are shared by all hosts again")
        self._works = True
        for asked, answer in zip(batch, answers, strict=True):
            if not asked.left.done():
                asked.left.set_result(-1.0 if answer < 0 else answer / 1000)

    def _fail(self, reason: str) -> None:
        if self._works:
            log.warning("rate limits apply per process, because Redis is unavailable", extra={"reason": reason})
        self._works = False
        self._again_at = self._clock.monotonic() + PAUSE_S
        waiting, self._waiting = self._waiting, []
        _release(waiting)

    def _give_up(self, batch: list[_Asked]) -> None:
        """Stop waiting for the call; it may continue, so that its connection need not be closed."""
        self._given_up = True
        self._fail(f"Redis has not responded for {self._wait_s * 1000:.0f} ms")
        _release(batch)

    async def aclose(self) -> None:
        """Cancel the call that is still running."""
        if self._call is not None:
            self._call.cancel()
            await asyncio.wait([self._call])


def _release(batch: list[_Asked]) -> None:
    for asked in batch:
        if not asked.left.done():
            asked.left.set_result(None)


class SharedLimiter:
    """One bucket per key for all hosts."""

    def __init__(self, name: str, own: RateLimiter, buckets: SharedBuckets) -> None:
        """Create the limiter; `name` distinguishes its buckets from those of other limiters."""
        self.per_minute = own.per_minute
        self._name = name
        self._own = own
        self._buckets = buckets

    async def take(self, key: str) -> float | None:
        if not self._own.take(key):
            return None
        left = await self._buckets.take(f"{self._name}:{key}", self.per_minute)
        if left is None:
            return self._own.left(key)
        return None if left < 0 else left
