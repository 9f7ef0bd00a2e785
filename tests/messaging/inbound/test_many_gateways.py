"""Several gateways work on one inbox: each on what it accepted, in the order of each chat."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.messaging.inbound.inbox_hall import Hall, killed, message, running
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S, eventually

from tocsin.channels.inbound import MessageKind
from tocsin.core.ids import new_id
from tocsin.core.process.beats import RedisBeats
from tocsin.core.process.presence import SILENCE_S
from tocsin.messaging.inbound.handling import (
    EventTakenOverError,
    Handler,
    HandlerResult,
    HandlingStatus,
    MessageContext,
    Reply,
)
from tocsin.messaging.inbound.inbox import SWEEP_S
from tocsin.messaging.inbound.redis.store import RedisInbox


@pytest.fixture
async def sqlite_hall(tmp_path: Path) -> AsyncIterator[Hall]:
    hall = Hall.build(tmp_path)
    yield hall
    await hall.database.aclose()


@pytest.fixture
async def redis_hall(sqlite_hall: Hall, redis_server: RedisServer) -> AsyncIterator[Hall]:
    client, prefix = patient_redis(redis_server.url), f"test-{new_id()}"
    sqlite_hall.store = RedisInbox(client, sqlite_hall.clock, prefix=prefix)
    sqlite_hall.signs = RedisBeats(client, prefix=prefix)
    yield sqlite_hall
    await client.aclose()


@pytest.fixture(params=["sqlite", "redis"])
def hall(request: pytest.FixtureRequest, sqlite_hall: Hall, redis_server: RedisServer) -> Hall:
    chosen: Hall = request.getfixturevalue(f"{request.param}_hall")
    return chosen


class Workers:
    """Handlers of several processes; each message waits until the test lets it end."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def of(self, process: str) -> Handler:
        async def handler(received: MessageContext) -> HandlerResult:
            text = received.message.text
            self.began.append(f"{process}: {text}")
            await received.begin()
            await self.ends.setdefault(text, asyncio.Event()).wait()
            return HandlerResult(HandlingStatus.ANSWERED, (Reply(f"re {text}"),))

        return handler

    def end(self, *texts: str) -> None:
        for text in texts:
            self.ends.setdefault(text, asyncio.Event()).set()

    async def until(self, number: int) -> list[str]:
        await eventually(lambda: len(self.began) >= number)
        return self.began


async def test_the_messages_of_a_chat_are_worked_on_in_order_over_all_gateways(hall: Hall):
    workers = Workers()
    one, two = hall.inbox(workers.of("one"), owner="one"), hall.inbox(workers.of("two"), owner="two")
    hall.alive |= {"one", "two"}
    async with running(one, two):
        await one.accept([message("a")])
        await workers.until(1)
        await two.accept([message("b")])
        await one.accept([message("c")])
        await two.accept([message("/stop", kind=MessageKind.COMMAND), message("d", "square")])
        assert sorted(await workers.until(3)) == ["one: a", "two: /stop", "two: d"], "b and c wait"
        workers.end("a", "b", "c", "d", "/stop")
        while len(await hall.replies()) < 5:
            hall.clock.advance(SWEEP_S)
            await asyncio.sleep(0.01)
    assert [entry for entry in workers.began if entry[-1] in "abc"] == ["one: a", "two: b", "one: c"]
    in_order = [text for _, text in await hall.replies() if text[-1] in "abc"]
    assert in_order == ["re a", "re b", "re c"]


async def test_a_waiting_message_is_begun_as_soon_as_the_other_gateway_is_done(redis_hall: Hall):
    workers, seen = Workers(), []
    one = redis_hall.inbox(workers.of("one"), owner="one")
    two = redis_hall.inbox(workers.of("two"), owner="two", on_received=lambda *facts: seen.append(facts))
    redis_hall.alive |= {"one", "two"}
    async with running(one, two):
        await one.accept([message("a")])
        await workers.until(1)
        await two.accept([message("b"), message("/first", "b", kind=MessageKind.COMMAND)])
        await workers.until(2)
        workers.end("a", "b", "/first")
        await redis_hall.ended(3)  # no time passes here: it was woken
    assert workers.began == ["one: a", "two: /first", "two: b"]


async def test_what_a_silent_gateway_of_another_host_left_is_begun_anew_by_one_of_the_others(hall: Hall):
    workers = Workers()
    hall.alive.add("two")
    gone, two = hall.inbox(workers.of("gone"), owner="gone"), hall.inbox(workers.of("two"), owner="two")
    async with killed(gone):
        await gone.accept([message("a")])
        await workers.until(1)
    workers.end("a", "b")
    async with running(two):
        await two.accept([message("b")])
        while len(await hall.replies()) < 2:
            hall.clock.advance(SILENCE_S / 10)
            await asyncio.sleep(0.01)
    assert hall.buried == ["gone"]
    assert workers.began[0] == "gone: a"
    assert sorted(workers.began[1:]) == ["two: a", "two: b"], "what one process has, it works on at the same time"
    assert sorted(text for _, text in await hall.replies()) == ["re a", "re b"]


async def test_a_process_that_was_taken_for_dead_begins_nothing_that_another_one_has(hall: Hall):
    asked, resumes, refused = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stalls(received: MessageContext) -> HandlerResult:
        asked.set()
        await resumes.wait()
        try:
            await received.begin()
        except EventTakenOverError:
            refused.set()
            raise
        return HandlerResult(HandlingStatus.ANSWERED, (Reply("twice"),))

    stalled = hall.inbox(stalls, owner="stalled")
    async with running(stalled):
        await stalled.accept([message("a")])
        await asked.wait()
        assert await hall.store.adopt("stalled", "two")
        resumes.set()
        await asyncio.wait_for(refused.wait(), PATIENCE_S)
    assert await hall.store.owners() == {"two": 1}
    assert await hall.replies() == []
