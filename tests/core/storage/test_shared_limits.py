"""Limits that hosts share: exact while Redis answers, each host's own while it does not, and never a long wait."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.waiting import eventually

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.storage.shared_limits import PAUSE_S, SharedBuckets, SharedLimiter
from tocsin.core.time.ratelimit import RateLimiter
from tocsin.testing import FakeClock

# As good as never: these tests must pass on a machine that is busy.
PATIENT_S = 60.0


class Host:
    """The limits of one host; its clock is its own."""

    def __init__(self, client: RedisClient, prefix: str, clock: FakeClock) -> None:
        self.client = client
        self.prefix = prefix
        self.clock = clock
        self.buckets = SharedBuckets(client, clock, prefix=prefix, wait_s=PATIENT_S)

    def limiter(self, per_minute: int, name: str = "user") -> SharedLimiter:
        return SharedLimiter(name, RateLimiter(per_minute, self.clock.monotonic), self.buckets)


@pytest.fixture
async def hosts(unsaved_redis: RedisServer) -> AsyncIterator[list[Host]]:
    """Two hosts whose clocks are five minutes apart."""
    clients = [patient_redis(unsaved_redis.url), patient_redis(unsaved_redis.url)]
    prefix = f"test{uuid4().hex}"
    clocks = [FakeClock(), FakeClock(1_700_000_300.0)]
    yield [Host(client, prefix, clock) for client, clock in zip(clients, clocks, strict=True)]
    for client in clients:
        await client.aclose()


async def test_a_bucket_holds_a_minutes_tokens_for_all_hosts_together(hosts: list[Host]):
    limiters = [host.limiter(3) for host in hosts]  # one comes back every 20 s
    answers = [await limiters[number % 2].take("anna") for number in range(5)]
    assert [answer if answer is None else int(answer) for answer in answers] == [2, 1, 0, None, None]


async def test_requests_at_the_same_time_get_no_more_tokens_than_there_are(hosts: list[Host]):
    limiters = [host.limiter(3) for host in hosts]
    answers = await asyncio.gather(*(limiters[number % 2].take("anna") for number in range(250)))
    assert sum(answer is not None for answer in answers) == 3
    answers = await asyncio.gather(*(limiters[number % 2].take(str(number)) for number in range(250)))
    assert None not in answers


async def test_a_limit_so_high_that_its_tokens_come_back_at_once_is_no_limit(hosts: list[Host]):
    limiters = [host.limiter(1_000_000_000) for host in hosts]
    answers = [await limiter.take("anna") for limiter in limiters]
    assert all(answer is not None and answer > 999_999_000 for answer in answers)
    assert await hosts[0].buckets.take("user:anna", 1_000_000_000) is not None, "Redis decides"


async def test_users_addresses_and_services_have_buckets_of_their_own(hosts: list[Host]):
    (host, _) = hosts
    of_user, of_address = host.limiter(1), host.limiter(1, "address")
    assert await of_user.take("anna") is not None
    assert await of_user.take("anna") is None
    assert await of_user.take("eve") is not None
    assert await of_address.take("anna") is not None


async def test_what_the_hosts_own_bucket_refuses_costs_no_call():
    calls = Calls()
    limiter = limiter_on(calls, FakeClock())
    for _ in range(20):
        await limiter.take("anna")
    assert calls.made == 3


class Calls:
    """A client that counts calls, fails while it is told to, or keeps callers waiting."""

    def __init__(self, client: Any = None) -> None:
        self.client = client
        self.made = 0
        self.fails = False
        self.hold: asyncio.Event | None = None

    async def run(self, script: Any, keys: Sequence[str], args: Sequence[int]) -> Any:
        self.made += 1
        if self.hold:
            await self.hold.wait()
        if self.fails:
            raise StoreUnavailableError("Redis is away")
        return await self.client.run(script, keys, args) if self.client else [0] * len(keys)


def limiter_on(calls: Calls, clock: FakeClock, wait_s: float = PATIENT_S) -> SharedLimiter:
    return SharedLimiter("user", RateLimiter(3, clock.monotonic), SharedBuckets(calls, clock, wait_s=wait_s))


async def test_without_redis_each_host_keeps_to_the_limit_by_itself_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
):
    calls, clock = Calls(), FakeClock()
    calls.fails = True
    limiter = limiter_on(calls, clock)
    answers = [await limiter.take("anna") for _ in range(5)]
    assert [answer is not None for answer in answers] == [True] * 3 + [False] * 2
    assert calls.made == 1, "the others do not ask again at once"
    told = [(record.getMessage(), vars(record)["reason"]) for record in caplog.records]
    assert told == [("rate limits apply per process, because Redis is unavailable", "Redis is away")]


async def test_redis_is_asked_again_after_a_second_and_nobody_waits_for_that(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    calls, clock = Calls(), FakeClock()
    calls.fails = True
    limiter = limiter_on(calls, clock)
    await limiter.take("anna")
    clock.advance(PAUSE_S)
    calls.fails, calls.hold = False, asyncio.Event()
    assert await limiter.take("anna") is not None, "it answers although Redis has not yet"
    calls.hold.set()
    calls.hold = None
    await eventually(lambda: "rate limits are shared by all hosts again" in caplog.text)
    assert await limiter.take("anna") == 0, "what Redis says counts again"
    assert calls.made == 3


async def test_a_redis_that_does_not_answer_in_time_keeps_nobody_waiting():
    calls, clock = Calls(), FakeClock()
    calls.hold = asyncio.Event()
    limiter = limiter_on(calls, clock, wait_s=0.01)
    answers = await asyncio.gather(*(limiter.take("anna") for _ in range(5)))
    assert [answer is not None for answer in answers] == [True] * 3 + [False] * 2
    assert await limiter.take("eve") is not None
    assert calls.made == 1, "while a call goes on there is no other"
    calls.hold.set()


async def test_a_server_that_is_paused_is_waited_for_once(unsaved_redis: RedisServer):
    client, clock = open_redis(unsaved_redis.url, answer_timeout_s=0.5), FakeClock()
    buckets = SharedBuckets(client, clock, prefix=f"test{uuid4().hex}", wait_s=0.01)
    limiter = SharedLimiter("user", RateLimiter(3, clock.monotonic), buckets)
    unsaved_redis.pause()
    try:
        answers = [await limiter.take("anna") for _ in range(4)]
    finally:
        unsaved_redis.resume()
    assert [answer is not None for answer in answers] == [True] * 3 + [False]
    await buckets.aclose()
    await client.aclose()


async def test_a_clock_of_the_server_that_was_set_back_refuses_for_a_minute_at_most(hosts: list[Host]):
    (host, _) = hosts
    limiter = host.limiter(1)
    await limiter.take("anna")
    client, key = host.client, f"{{{host.prefix}:limits}}:user:anna"
    full_at = float(await client.command("GET", key))
    await client.command("SET", key, f"{full_at + 3_600e6:.2f}")
    host.clock.advance(120.0)
    assert await limiter.take("anna") is None
    # A minute later by the server's clock, as far as this bucket can tell.
    await client.command("SET", key, f"{full_at - 60e6:.2f}")
    assert await limiter.take("anna") is None, "its own bucket"
    host.clock.advance(120.0)
    assert await limiter.take("anna") is not None
