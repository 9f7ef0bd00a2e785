"""A Redis that answers late, and one that a single host cannot reach: what is received and sent stays right."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from tests.delivery.conftest import RedisServer
from tests.delivery.late_redis import LateRedis, late_redis
from tests.delivery.store_contract import RULES, SENT, new, two_clocks
from tests.messaging.inbound.inbox_hall import message
from tests.waiting import PATIENCE_S, eventually

from tocsin.channels.conversation import UpdateLeaseLostError
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.storage.redis_routes import CONNECT_TIMEOUT_S, RedisLink
from tocsin.delivery.model import LEASE_S
from tocsin.delivery.redis.store import RedisStore
from tocsin.messaging.inbound.redis.lease import LEASE_S as FETCHER_LEASE_S
from tocsin.messaging.inbound.redis.store import RedisInbox
from tocsin.testing.fakes import FakeClock

LATE_S = 2.0


class Host(NamedTuple):
    """What one host sees of the shared Redis; its clock is its own."""

    clock: FakeClock
    queue: RedisStore
    inbox: RedisInbox


class Two(NamedTuple):
    """A host behind the proxy, and one that reaches the server."""

    proxy: LateRedis
    there: Host
    here: Host


def host(client: RedisClient, prefix: str) -> Host:
    clock = two_clocks()
    return Host(clock, RedisStore(client, clock, prefix=prefix), RedisInbox(client, clock, prefix=prefix))


@pytest.fixture
async def two(unsaved_redis: RedisServer) -> AsyncIterator[Two]:
    prefix = f"test-{new_id()}"
    with TemporaryDirectory(prefix="redis-") as directory:
        async with late_redis(unsaved_redis.socket, Path(directory) / "late.sock") as proxy:
            clients = [open_redis(url, answer_timeout_s=PATIENCE_S) for url in (proxy.url, unsaved_redis.url)]
            yield Two(proxy, *(host(client, prefix) for client in clients))
            for client in clients:
                await client.aclose()


async def late(two: Two, work: Any, seconds: float = LATE_S) -> Any:
    """Return the answer of what Redis has carried out at once, and answers after so many seconds."""
    two.proxy.hold()
    task = asyncio.create_task(work)
    await eventually(lambda: two.proxy.waiting)
    for one in (two.there, two.here):
        one.clock.advance(seconds)
    two.proxy.let_through()
    return await task


async def test_a_message_whose_answers_all_come_late_is_sent_once_by_one_host(two: Two):
    [queued] = await late(two, two.there.queue.enqueue_many([new("late", idempotency_key="k")]))
    [known] = await late(two, two.there.queue.enqueue_many([new("late", idempotency_key="k")]))
    assert known.id == queued.id
    [claimed] = await late(two, two.there.queue.claim_due("there", 9, RULES))
    assert await two.here.queue.claim_due("here", 9, RULES) == [], "the lease lasts longer than an answer takes"
    for _ in range(5):
        assert await late(two, two.there.queue.renew("there", [claimed.id])) == {claimed.id}
    assert await late(two, two.there.queue.finish("there", claimed.id, SENT))
    assert (await two.here.queue.get(queued.id)).status == "sent"


async def test_a_claim_that_is_answered_after_its_lease_is_found_to_be_another_ones(two: Two):
    await two.here.queue.enqueue_many([new()])
    [claimed] = await late(two, two.there.queue.claim_due("there", 9, RULES), LEASE_S + 1)
    [again] = await two.here.queue.claim_due("here", 9, RULES)
    assert again.id == claimed.id
    assert await two.there.queue.renew("there", [claimed.id]) == set(), "whoever sends asks that before"
    assert not await two.there.queue.finish("there", claimed.id, SENT)


async def test_an_event_whose_answer_comes_too_late_for_its_caller_is_stored_once(two: Two):
    await two.there.inbox.accept([message("first", "c", "k0")], "there")  # the server has the script from now on
    two.proxy.hold()
    call = asyncio.create_task(two.there.inbox.accept([message("hello", "c", "k1")], "there"))
    await eventually(lambda: two.proxy.waiting)
    call.cancel()
    await asyncio.wait([call])
    two.proxy.let_through()
    assert await two.here.inbox.accept([message("hello", "c", "k1")], "here") == [None], "the repeat is acknowledged"
    assert await two.here.inbox.owners() == {"there": 2}


async def test_a_host_that_is_cut_off_loses_what_it_had_to_the_others_and_finds_that_out(two: Two):
    proxy, there, here = two
    await there.queue.enqueue_many([new()])
    [claimed] = await there.queue.claim_due("there", 9, RULES)
    [mine] = await there.inbox.accept([message("hello", "c", "k1")], "there")
    lease = there.inbox.lease("updates", "there")
    assert await lease.acquire()
    assert await here.queue.claim_due("here", 9, RULES) == []  # from now on it knows the time of the queue,
    assert not await here.inbox.lease("updates", "here").acquire()  # and that of the inbox
    proxy.cut()
    for call in (
        there.queue.enqueue_many([new()]),
        there.queue.finish("there", claimed.id, SENT),
        there.inbox.accept([message("more", "c", "k2")], "there"),
        there.inbox.backlog(),
    ):
        with pytest.raises(StoreUnavailableError, match="cannot connect"):
            await call
    health = await there.queue.health()
    assert (health.ok, "cannot connect" in health.problems[0]) == (False, True)
    assert (await here.queue.health()).backend == "redis"

    here.clock.advance(max(LEASE_S, FETCHER_LEASE_S) + 1)
    [again] = await here.queue.claim_due("here", 9, RULES)
    assert again.id == claimed.id
    assert await here.inbox.lease("updates", "here").acquire()
    assert mine
    assert [ticket.seq for ticket in await here.inbox.adopt("there", "here")] == [mine.seq]

    proxy.mend()
    assert not await there.queue.finish("there", claimed.id, SENT)
    assert not await there.inbox.begin(mine.seq, "there")
    with pytest.raises(UpdateLeaseLostError):
        await there.inbox.accept([message("fetched", "c", "k3")], "there", ("updates", 7), lease.token)


class NewConnection:
    """A connection that is not made yet, and notes what happens."""

    def __init__(self) -> None:
        self.is_connected = False
        self.happened: list[Any] = []

    async def connect(self) -> None:
        self.is_connected = True
        self.happened.append("connected")

    async def can_read(self) -> bool:
        return False

    def pack_command(self, *words: Any) -> Sequence[Any]:
        return words

    async def send_packed_command(self, words: Sequence[Any], **_: Any) -> None:
        self.happened.append("sent")

    async def read_response(self) -> bytes:
        return b"PONG"

    async def disconnect(self, **_: Any) -> None:
        self.is_connected = False


async def test_making_a_connection_takes_none_of_the_time_that_an_answer_may_take():
    connection = NewConnection()
    link = RedisLink(lambda: connection)  # type: ignore[arg-type,return-value]
    for _ in range(2):
        assert await link.exchange([("PING",)], connection.happened.append) == [b"PONG"]
    assert connection.happened == [CONNECT_TIMEOUT_S, "connected", 0.0, "sent", "sent"]


async def test_a_new_connection_asks_for_nothing_that_nobody_needs(two: Two):
    await two.there.queue.try_write()
    assert two.proxy.sent.startswith(b"*5\r\n$3\r\nSET\r\n"), "each question costs one more late answer"
