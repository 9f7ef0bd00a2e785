"""A chat where a program answers a program is muted (docs/facts/webhooks.md), on all hosts where they share Redis."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from tests.delivery.conftest import RedisServer
from tests.waiting import PATIENCE_S

from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.messaging.inbound import loop_guard as brake
from tocsin.messaging.inbound.loop_guard import MUTED_S, LoopVerdict, OwnLoopGuard
from tocsin.messaging.inbound.redis.shared_loop_guard import LOOK_EVERY_S, SharedLoopGuard
from tocsin.testing.fakes import FakeClock

CHAT, OTHER = ("bell", "tower"), ("bell", "gate")
PASSES, MUTES, MUTED = LoopVerdict.PASSES, LoopVerdict.MUTES, LoopVerdict.MUTED


async def test_60_replies_in_60_seconds_pass_and_one_more_mutes_the_chat_for_5_minutes():
    clock = FakeClock()
    guard = OwnLoopGuard(60, clock.monotonic)
    for _ in range(60):
        assert await guard.take(CHAT, 1) is PASSES
        clock.advance(0.9)
    assert not await guard.is_muted(CHAT)
    assert await guard.take(CHAT, 1) is MUTES
    assert await guard.is_muted(CHAT)
    clock.advance(299)
    assert await guard.is_muted(CHAT)
    clock.advance(1)
    assert not await guard.is_muted(CHAT)
    assert await guard.take(CHAT, 60) is PASSES


async def test_one_reply_a_second_goes_on_for_ever():
    clock = FakeClock()
    guard = OwnLoopGuard(60, clock.monotonic)
    for _ in range(1000):
        assert await guard.take(CHAT, 1) is PASSES
        clock.advance(1)


async def test_a_chat_is_not_muted_for_another_one():
    guard = OwnLoopGuard(2, FakeClock().monotonic)
    assert await guard.take(CHAT, 3) is MUTES
    assert not await guard.is_muted(OTHER)
    assert await guard.take(OTHER, 2) is PASSES


async def test_the_memory_of_chats_is_bounded():
    guard = OwnLoopGuard(1, FakeClock().monotonic)
    for number in range(brake.MAX_CHATS + 1):
        assert await guard.take(("bell", str(number)), 1) is PASSES
    assert await guard.take(("bell", "0"), 1) is PASSES  # forgotten
    assert await guard.take(("bell", str(brake.MAX_CHATS)), 1) is MUTES


# Over all hosts


class GuardHost:
    """The guard of one host, whose clock is its own."""

    def __init__(self, client: RedisClient, prefix: str, clock: FakeClock) -> None:
        self.client, self.prefix, self.clock = client, prefix, clock

    def guard(self, limit: int) -> SharedLoopGuard:
        own = OwnLoopGuard(limit, self.clock.monotonic)
        return SharedLoopGuard(own, self.client, self.clock, prefix=self.prefix)


@pytest.fixture
async def hosts(unsaved_redis: RedisServer) -> AsyncIterator[list[GuardHost]]:
    """Two hosts whose clocks are five minutes apart."""
    clients, prefix = (
        [open_redis(unsaved_redis.url, answer_timeout_s=PATIENCE_S) for _ in range(2)],
        f"test{uuid4().hex}",
    )
    yield [GuardHost(client, prefix, FakeClock(1e9 + 300.0 * number)) for number, client in enumerate(clients)]
    for client in clients:
        await client.aclose()


async def test_a_loop_through_two_hosts_is_muted_at_the_limit_of_one_and_told_once(hosts: list[GuardHost]):
    guards = [host.guard(4) for host in hosts]
    assert [await guards[n % 2].take(CHAT, 1) for n in range(4)] == [PASSES] * 4
    verdicts = await asyncio.gather(*(guards[n % 2].take(CHAT, 1) for n in range(6)))
    assert sorted(verdict.value for verdict in verdicts) == ["muted"] * 5 + ["mutes"]
    assert [await guard.is_muted(CHAT) for guard in guards] == [True, True]
    assert not await guards[0].is_muted(OTHER)


async def test_that_another_host_has_muted_a_chat_is_known_within_a_second(hosts: list[GuardHost]):
    first, second = (host.guard(1) for host in hosts)
    assert not await second.is_muted(CHAT)
    await first.take(CHAT, 2)
    hosts[1].clock.advance(LOOK_EVERY_S)
    assert await second.is_muted(CHAT)


async def test_the_mute_ends_after_five_minutes_by_the_clock_of_the_server(hosts: list[GuardHost]):
    guard = hosts[0].guard(1)
    await guard.take(CHAT, 2)
    key = f"{{{hosts[0].prefix}:loop:bell:tower}}:muted"
    left_ms = await hosts[0].client.command("PTTL", key)
    assert MUTED_S - 60 < left_ms / 1000 <= MUTED_S
    await hosts[0].client.command("PEXPIRE", key, 0)
    assert not await guard.is_muted(CHAT)
    assert await guard.take(CHAT, 1) is PASSES


async def test_while_redis_is_away_each_host_counts_for_itself(hosts: list[GuardHost], unsaved_redis: RedisServer):
    guard = hosts[0].guard(2)
    assert await guard.take(CHAT, 1) is PASSES
    unsaved_redis.kill()
    try:
        assert await guard.take(CHAT, 1) is PASSES
        assert await guard.take(CHAT, 1) is MUTES
        assert await guard.is_muted(CHAT)
    finally:
        unsaved_redis.start()
