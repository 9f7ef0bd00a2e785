"""What a limit costs that hosts share: time and processor time of a request, beside a limit of this process alone.

Prints p50 and p99 of the whole request (GET /channels, in process, without a socket) for requests one by one and 32 at
the same time. `python benchmarks/limits.py` takes about 10 seconds.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.delivery.conftest import RedisServer

from tocsin.core.storage.redis_client import open_redis
from tocsin.core.storage.shared_limits import SharedBuckets, SharedLimiter
from tocsin.core.time.clock import SystemClock
from tocsin.core.time.ratelimit import Limiter, RateLimiter
from tocsin.web.http.asgi import RateLimits, RequestScope

PER_MINUTE, CALLS, WARM_UP = 10_000_000, 8_000, 500


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer 200, as the cheapest of all routes."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"[]"})


async def measured(limiter: Limiter, callers: int) -> tuple[float, float, float]:
    """Return p50 and p99 in milliseconds, and the processor time of a request in microseconds."""
    app = RequestScope(RateLimits(answer, limiter, limiter), (), lambda scope, status: None)

    async def send(message: Any) -> None: ...

    async def receive() -> Any: ...

    async def call(number: int) -> float:
        scope = {"type": "http", "method": "GET", "path": "/channels", "scheme": "http", "headers": []}
        began = time.perf_counter()
        await app({**scope, "client": (f"10.0.0.{number % 50}", 1)}, receive, send)
        return time.perf_counter() - began

    async def caller(first: int, calls: int) -> list[float]:
        return [await call(first + number) for number in range(calls)]

    await caller(0, WARM_UP)
    used = time.process_time()
    taken = [t for times in await asyncio.gather(*(caller(n, CALLS // callers) for n in range(callers))) for t in times]
    used = (time.process_time() - used) / len(taken)
    taken.sort()
    return taken[len(taken) // 2] * 1e3, taken[len(taken) * 99 // 100] * 1e3, used * 1e6


async def compare(url: str) -> None:
    """Print a line for each kind of limit and number of callers."""
    clock, client = SystemClock(), open_redis(url)
    buckets = SharedBuckets(client, clock)
    for callers in (1, 32):
        own = RateLimiter(PER_MINUTE, clock.monotonic)
        for name, limiter in (("this process alone", own), ("shared in Redis", SharedLimiter("bench", own, buckets))):
            p50, p99, used = await measured(limiter, callers)
            print(f"{callers:>3} at once, {name:18}  p50 {p50:7.3f} ms  p99 {p99:7.3f} ms  processor {used:5.0f} us")
    await buckets.aclose()
    await client.aclose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="redis-") as directory:
        server = RedisServer(Path(directory), appendonly="no")
        server.start()
        try:
            asyncio.run(compare(server.url))
        finally:
            server.stop()
