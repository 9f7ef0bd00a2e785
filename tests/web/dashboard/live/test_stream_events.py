"""What happens to messages on any host reaches open pages of the dashboard, on either store."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.rest.streams import connected

from tocsin.assembly.full.live import event_hub
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage import changes
from tocsin.core.storage.change_stream import KEPT, ChangeStream, StreamPage
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus, NewDelivery
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.sqlite import schema as delivery_schema
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import ChannelRules, DeliveryStore
from tocsin.features.notifications.feature import FEATURE as NOTIFICATIONS
from tocsin.messaging.inbound import schema as inbox_schema
from tocsin.messaging.inbound.handling import HandlingStatus
from tocsin.messaging.inbound.redis.store import RedisInbox
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.store import InboxStore
from tocsin.testing import FakeClock
from tocsin.testing.features import open_feature
from tocsin.web.dashboard.live.stream_events import FLOOD_S, MAX_RECORDS, StreamEvents, StreamSource

SCHEMAS = {"changes": changes.MIGRATIONS, "delivery": delivery_schema.MIGRATIONS, "inbox": inbox_schema.MIGRATIONS}
RULES = {"bell": ChannelRules()}
SENT = AttemptOutcome(DeliveryStatus.SENT, parts_sent=1, parts_total=1, provider_id="ts=1")


@dataclass
class MessagesHost:
    """The stores of one host, and its clock."""

    queue: DeliveryStore
    inbox: InboxStore
    clock: FakeClock


@pytest.fixture(params=["sqlite", "redis"])
async def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[MessagesHost]]:
    """Two openings of one store; on Redis, they are two hosts whose clocks are five minutes apart."""
    prefix, now = f"test{uuid4().hex}", FakeClock()
    async with AsyncExitStack() as stack:

        def opened(clock: FakeClock) -> MessagesHost:
            if request.param == "redis":
                client = patient_redis(request.getfixturevalue("unsaved_redis").url)
                stack.push_async_callback(client.aclose)
                queue, inbox = RedisStore(client, clock, prefix=prefix), RedisInbox(client, clock, prefix=prefix)
                return MessagesHost(queue, inbox, clock)
            database = Database(tmp_path / "tocsin.db", SCHEMAS)
            stack.push_async_callback(database.aclose)
            return MessagesHost(SqliteStore(database, clock), SqliteInbox(database, clock), clock)

        yield [opened(now), opened(FakeClock(now.now() - 300.0) if request.param == "redis" else now)]


async def accept(host: MessagesHost, *messages: str) -> list[str]:
    new = [NewDelivery("bell", f"tower {message}", message, "test") for message in messages]
    return [delivery.id for delivery in await host.queue.enqueue_many(new)]


async def test_every_state_of_a_delivery_on_one_host_is_in_the_stream_of_the_other(hosts: list[MessagesHost]):
    here, there = hosts
    stream = there.queue.changes()
    position = await stream.end()
    [id_] = await accept(here, "1")
    await here.queue.claim_due("w1", 1, RULES)
    page = await stream.after(position, at_most=10)
    assert (list(page.subjects), page.complete) == ([id_], True)
    assert await stream.after(page.end, at_most=10) == StreamPage((), page.end, complete=True)
    await here.queue.finish("w1", id_, SENT)
    assert list((await stream.after(page.end, at_most=10)).subjects) == [id_]
    assert (await there.queue.get(id_)).status is DeliveryStatus.SENT


async def test_every_state_of_a_received_event_is_in_the_stream_of_the_other(hosts: list[MessagesHost]):
    here, there = hosts
    stream = there.inbox.changes()
    position = await stream.end()
    message = InboundMessage("bell", MessageKind.MESSAGE, "1", ("k1",), "7", "hello", sender_id="7")
    [ticket] = await here.inbox.accept([message], "me")
    assert ticket is not None
    page = await stream.after(position, at_most=10)
    assert list(page.subjects) == [str(ticket.seq)]
    await here.inbox.claim([ticket.seq], "me")
    await here.inbox.finish(ticket.seq, "me", HandlingStatus.ANSWERED)
    assert list((await stream.after(page.end, at_most=10)).subjects) == [str(ticket.seq)]


async def test_a_direct_send_that_is_recorded_is_in_the_stream_too(hosts: list[MessagesHost]):
    here, there = hosts
    [id_] = await accept(here, "1")
    await here.queue.cancel(id_)
    cancelled = await here.queue.get(id_)
    position = await there.queue.changes().end()
    await here.queue.record(replace(cancelled, id=f"{id_}0", status=DeliveryStatus.SENT, idempotency_key=None))
    assert list((await there.queue.changes().after(position, at_most=10)).subjects) == [f"{id_}0"]


async def test_more_than_are_wanted_are_told_as_incomplete(hosts: list[MessagesHost]):
    here, there = hosts
    stream = there.queue.changes()
    await accept(here, "0")
    position = await stream.end()
    await accept(here, *map(str, range(11)))
    page = await stream.after(position, at_most=10)
    assert (page.complete, page.end) == (False, await stream.end())
    assert (await stream.after(position, at_most=11)).complete


async def test_what_is_no_longer_kept_is_told_as_incomplete(tmp_path: Path):
    database = Database(tmp_path / "tocsin.db", SCHEMAS)
    stream = SqliteStore(database, FakeClock()).changes()
    insert = "INSERT INTO delivery_changes (subject) VALUES ('x')"
    await database.write(lambda c: c.execute(insert).rowcount)
    position = await stream.end()
    await database.write(lambda c: [c.execute(insert) for _ in range(KEPT + 500)] and None)
    assert not (await stream.after(position, at_most=10 * KEPT)).complete
    await database.aclose()


async def test_a_position_of_another_store_is_incomplete_once(unsaved_redis: RedisServer):
    client = patient_redis(unsaved_redis.url)
    stream = RedisStore(client, FakeClock(), prefix=f"test{uuid4().hex}").changes()
    page = await stream.after("1700000000000-3", at_most=10)
    assert (page.complete, page.end) == (False, "0-0")
    assert (await stream.after(page.end, at_most=10)).complete
    await client.aclose()


# The events


def source_of(stream: ChangeStream, known: Callable[[str], Any] = lambda id_: {"id": id_}) -> StreamSource:
    async def records(ids: Sequence[str]) -> Mapping[str, Any]:
        return {id_: known(id_) for id_ in ids}

    return StreamSource("deliveries", "delivery", stream, records)


def told(events: Sequence[tuple[str, bytes]]) -> list[tuple[str, Any]]:
    found = []
    for _, event in events:
        head, _, data = event.decode().partition("\ndata: ")
        found.append((head.removeprefix("event: "), json.loads(data)))
    return found


async def test_each_record_is_told_once_per_look_and_nothing_where_nobody_listens(hosts: list[MessagesHost]):
    here, there = hosts
    events = StreamEvents([source_of(there.queue.changes())], there.clock)
    assert await events.events({"runs"}) == []
    await events.follow({"deliveries"})
    [id_] = await accept(here, "1")
    await here.queue.claim_due("w1", 1, RULES)
    assert told(await events.events({"deliveries"})) == [("delivery.updated", {"id": id_})]
    assert await events.events({"deliveries"}) == []


async def test_a_flood_is_one_event_a_second(hosts: list[MessagesHost]):
    here, there = hosts
    events = StreamEvents([source_of(there.queue.changes())], there.clock)
    await events.follow({"deliveries"})
    await accept(here, *map(str, range(MAX_RECORDS + 1)))
    assert told(await events.events({"deliveries"})) == [("delivery.resync", {})]
    [id_] = await accept(here, "one more")
    assert await events.events({"deliveries"}) == []
    there.clock.advance(FLOOD_S)
    assert told(await events.events({"deliveries"})) == [("delivery.updated", {"id": id_})]


class FailingStream:
    """A stream of a store that is away, until the test says otherwise."""

    away = True

    async def end(self) -> str:
        if self.away:
            raise StoreUnavailableError("Redis is away")
        return "0-0"

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        if self.away:
            raise StoreUnavailableError("Redis is away")
        return StreamPage((), position, complete=True)


async def test_a_store_that_was_away_costs_no_other_events_and_readers_fetch_anew():
    stream, clock = FailingStream(), FakeClock()
    events = StreamEvents([source_of(stream)], clock)
    await events.follow({"deliveries"})
    assert await events.events({"deliveries"}) == []
    stream.away = False
    assert told(await events.events({"deliveries"})) == [("delivery.resync", {})]
    stream.away = True
    assert await events.events({"deliveries"}) == []


async def test_a_page_that_listens_gets_deliveries_and_received_events(tmp_path: Path):
    async with open_feature(NOTIFICATIONS, tmp_path, clock=FakeClock()) as bench:
        app, hub = bench.app, event_hub(bench.app)
        async with connected(await hub.open({"deliveries", "received"})) as client:
            [delivery] = await app.outbox.store.enqueue_many([NewDelivery("email", "a@b.c", "hello", "test")])
            await app.stores.inbox().accept(
                [InboundMessage("botchat", MessageKind.MESSAGE, "1", ("k1",), "7", "a secret", sender_id="7")], "me"
            )
            await hub.look()
            records = dict(await client.got(2))
            of_delivery, of_event = records["delivery.updated"], records["received.updated"]
            assert (of_delivery["id"], of_delivery["status"]) == (delivery.id, "queued")
            assert (of_event["chat"], of_event["status"]) == ("7", "new")
            assert "a secret" not in json.dumps(of_event)
        async with connected(await hub.open({"deliveries"}, "0")) as client:
            assert ("delivery.resync", {}) in await client.got(1)
        await app.features.aclose()
