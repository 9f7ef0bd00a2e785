"""The inbox in Redis: the contract of every inbox, leases, and what only a server can do to it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.delivery.conftest import RedisServer
from tests.messaging.inbound.inbox_hall import SteppedClock, message, texts
from tests.messaging.inbound.inbox_store_contract import InboxStoreContract, OpenInbox, accepted, begun
from tests.redis_clients import patient_redis
from tests.waiting import eventually

from tocsin.channels.conversation import UpdateLeaseLostError
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.redis.lease import LEASE_S
from tocsin.messaging.inbound.redis.store import RedisInbox


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    made = patient_redis(redis_server.url)
    yield made
    await made.aclose()


@pytest.fixture
def open_store(client: RedisClient) -> OpenInbox:
    prefix = f"test-{new_id()}"
    return lambda clock, **bounds: RedisInbox(client, clock, prefix=prefix, **bounds)


class TestRedisInbox(InboxStoreContract):
    """Runs the contract; each test has a prefix of its own."""

    @pytest.fixture
    def open_store(self, client: RedisClient) -> OpenInbox:
        prefix = f"test-{new_id()}"
        return lambda clock, **bounds: RedisInbox(client, clock, prefix=prefix, **bounds)


class TestInboxInClusterAndBehindSentinels(InboxStoreContract):
    """Runs the contract where a script may touch one slot only, and where the master has to be asked for."""

    @pytest.fixture(params=["redis_cluster", "redis_sentinels"])
    async def open_store(self, request: pytest.FixtureRequest) -> AsyncIterator[OpenInbox]:
        client, prefix = patient_redis(request.getfixturevalue(request.param).url), f"test-{new_id()}"
        yield lambda clock, **bounds: RedisInbox(client, clock, prefix=prefix, **bounds)
        await client.aclose()


# --- what belongs to hosts


async def test_whoever_waits_for_an_event_is_woken_when_it_ends(open_store: OpenInbox):
    mine, yours = open_store(SteppedClock()), open_store(SteppedClock())
    woken: list[str] = []
    listening = asyncio.create_task(yours.listen("you", lambda: woken.append("you")))
    await eventually(lambda: len(woken) == 1)  # it has subscribed
    first = await begun(mine, "first", "me")
    await yours.accept([message("second")], "you")
    await mine.finish(first, "me", HandlingStatus.IGNORED)
    await eventually(lambda: len(woken) == 2)
    listening.cancel()


async def test_no_clock_of_a_host_is_compared_with_another_one(open_store: OpenInbox):
    ahead, behind = SteppedClock(), SteppedClock()
    ahead.advance(300)
    early, late = open_store(behind), open_store(ahead)
    assert await early.lease("updates", "early").acquire()
    assert not await late.lease("updates", "late").acquire(), "five minutes of difference end no lease"
    await accepted(early, message("one", "c", "a"))
    assert await accepted(late, message("one", "c", "a")) == [False]


async def test_an_expired_lease_goes_to_the_next_process_and_late_writes_of_its_holder_are_refused(
    open_store: OpenInbox,
):
    clock = SteppedClock()
    store = open_store(clock)
    first, second = store.lease("updates", "first"), store.lease("updates", "second")
    assert await first.acquire()
    assert not await second.acquire()
    clock.advance(LEASE_S - 1)
    assert await first.acquire(), "renewed"
    await store.accept([message("a", "c", "a")], "me", ("updates", 7), first.token)
    clock.advance(LEASE_S - 1)
    assert not await second.acquire()
    clock.advance(1)
    assert await second.acquire()
    assert second.token > first.token
    with pytest.raises(UpdateLeaseLostError):
        await store.accept([message("b", "c", "b")], "me", ("updates", 9), first.token)
    assert (await store.cursor("updates"), texts(await store.search())) == (7, ["a"])
    await store.accept([message("b", "c", "b")], "me", ("updates", 8), second.token)
    await second.release()
    assert await first.acquire(), "given back, it need not run out"


async def test_an_outcome_whose_confirmation_was_lost_may_be_told_again(open_store: OpenInbox):
    store = open_store(SteppedClock())
    seq = await begun(store)
    for _ in range(2):
        assert await store.outcome(seq, "me", HandlingStatus.ANSWERED, [Reply("yes")])
    for _ in range(2):
        assert await store.finish(seq, "me", HandlingStatus.ANSWERED)
    assert await store.owners() == {}


async def test_a_full_redis_takes_nothing_in_and_what_was_taken_in_is_finished(private_redis: RedisServer):
    client = patient_redis(private_redis.url)
    store = RedisInbox(client, SteppedClock())
    [ticket] = await store.accept([message("one", "c", "a")], "me", ("updates", 1))
    assert ticket
    private_redis.ask("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreUnavailableError, match="maxmemory"):
        await store.accept([message("two", "c", "b")], "me", ("updates", 2))
    await store.claim([ticket.seq], "me")
    assert await store.outcome(ticket.seq, "me", HandlingStatus.ANSWERED, [Reply("yes")])
    assert await store.finish(ticket.seq, "me", HandlingStatus.ANSWERED)
    private_redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert (await store.cursor("updates"), texts(await store.search())) == (1, ["one"])
    private_redis.restart()
    assert await accepted(store, message("one", "c", "a"), message("two", "c", "b")) == [False, True]
    await client.aclose()
