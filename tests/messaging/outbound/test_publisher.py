"""Publishing: durably on the bus where Redis answers, else straight into the queue."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError, UnknownChannelError
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.text.compact_json import to_json
from tocsin.delivery.bus.entry import BusEntry, named_files
from tocsin.delivery.model import Policy
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.publisher import Publisher
from tocsin.testing.fakes import FakeClock, ScriptedTransport, settings_of

TEST = Caller("test")


class Bell(OutboundAdapter):
    spec = ChannelSpec(kind="bell", label="Bell", product="a bell", aliases=("dingdong",))

    async def deliver(self, part: Part) -> str:
        raise AssertionError("publishing sends nothing")

    async def probe(self) -> str:
        raise AssertionError


@dataclass(frozen=True, slots=True)
class Desk:
    outbox: Outbox
    database: Database
    log: AuditLog
    clients: list[RedisClient] = field(default_factory=list)

    def publisher(self, server: RedisServer | None, *, answer_timeout_s: float = PATIENCE_S) -> Publisher:
        if server is None:
            return Publisher(self.outbox, None)
        self.clients.append(open_redis(server.url, answer_timeout_s=answer_timeout_s))
        return Publisher(self.outbox, lambda: self.clients[-1])


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    registry = Registry([Bell], settings_of([Bell], {}), lambda: Tools(ScriptedTransport(), FakeClock()))
    database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
    log = AuditLog(tmp_path / "audit.log")
    outbox = Outbox(SqliteStore(database, FakeClock()), registry, AuditTrail(log), FakeClock())
    desk = Desk(outbox, database, log)
    yield desk
    for client in desk.clients:
        await client.aclose()
    await database.aclose()


async def test_without_redis_a_message_goes_into_the_queue(desk: Desk):
    where = await desk.publisher(None).publish("dingdong", "tower", "fire", TEST)
    (delivery,) = (await desk.outbox.store.search(DeliveryFilter())).items
    assert where == f"queue {delivery.id}"
    assert (delivery.channel, delivery.target, delivery.message, delivery.source) == ("bell", "tower", "fire", "test")
    (entry,) = desk.log.tail(10)
    assert (entry.action, entry.metadata["delivery"]) == ("msg.queue", delivery.id)


async def test_with_redis_a_message_goes_on_the_durable_stream(desk: Desk, private_redis: RedisServer):
    where = await desk.publisher(private_redis).publish("dingdong", "tower", "Feuer ü", TEST)
    topic, id_ = where.split()
    assert topic == "outbound:bell"
    client = patient_redis(private_redis.url)
    [(found, words)] = await client.command("XRANGE", topic, "-", "+")
    await client.aclose()
    fields = {name.decode(): value.decode() for name, value in zip(words[::2], words[1::2], strict=True)}
    assert bytes(found).decode() == id_
    assert fields.keys() == {"target", "message", "id"}
    assert (fields["target"], fields["message"]) == ("tower", "Feuer ü")
    assert (await desk.outbox.store.search(DeliveryFilter())).items == []
    assert desk.log.tail(10) == [], "whoever takes it off the bus queues it, and writes that entry"


@pytest.mark.parametrize("how", ["killed", "silent"])
async def test_a_redis_that_does_not_answer_costs_no_message(desk: Desk, private_redis: RedisServer, how: str):
    private_redis.kill() if how == "killed" else private_redis.pause()
    where = await desk.publisher(private_redis, answer_timeout_s=1.0).publish("bell", "tower", "fire", TEST)
    (delivery,) = (await desk.outbox.store.search(DeliveryFilter())).items
    assert where == f"queue {delivery.id}"


async def test_a_message_whose_answer_was_lost_is_one_delivery_all_the_same(
    desk: Desk,
    private_redis: RedisServer,
):
    publisher = desk.publisher(private_redis, answer_timeout_s=1.0)
    private_redis.pause()
    await publisher.publish("bell", "tower", "fire", TEST)
    private_redis.resume()
    (delivery,) = (await desk.outbox.store.search(DeliveryFilter())).items
    assert delivery.idempotency_key is not None
    assert delivery.idempotency_key.startswith("bus:")
    # What the bridge makes of the copy that reached the stream after all.
    copy = publisher.prepare("bell", BusEntry("tower", "fire", id=delivery.idempotency_key.removeprefix("bus:")))
    [known] = await publisher.enqueue([copy.with_terms(None, None, delivery.idempotency_key)])
    assert known.id == delivery.id


@pytest.mark.parametrize(
    ("channel", "target", "message", "error"),
    [
        ("gong", "tower", "x", UnknownChannelError),
        ("bell", "", "x", ChannelError),
        ("bell", "tower", " ", ChannelError),
    ],
)
async def test_what_could_never_be_sent_is_not_published(
    desk: Desk,
    private_redis: RedisServer,
    channel: str,
    target: str,
    message: str,
    error: type[Exception],
):
    with pytest.raises(error):
        await desk.publisher(private_redis).publish(channel, target, message, TEST)
    assert private_redis.ask("DBSIZE") == ":0"


async def test_the_hashes_of_files_that_wait_on_the_bus_are_known(desk: Desk, private_redis: RedisServer):
    hashes = ["0" * 63 + "a", "f" * 64]
    client = patient_redis(private_redis.url)
    for number, each in enumerate(hashes):
        whole = {"target": "tower", "message": "fire", "attach": [{"name": "a.log", "hash": each, "size": 4}]}
        await client.command("XADD", f"outbound:bell{number}", "*", "data", to_json(whole))
    assert await named_files(client) == frozenset(hashes)
    await client.aclose()


async def test_without_redis_and_without_the_queue_it_is_an_error(desk: Desk):
    await desk.database.aclose()
    with pytest.raises(DatabaseError):
        await desk.publisher(None).publish("bell", "tower", "fire", TEST)
    assert desk.log.tail(10) == []


async def test_an_entry_of_the_bus_is_checked_and_queued_with_one_entry_each(desk: Desk):
    publisher = desk.publisher(None)
    entry = BusEntry("tower", "fire", id="k", policy="at_most_once")
    new = publisher.prepare("dingdong", entry)
    assert (new.channel, new.source, new.policy) == ("bell", "bus", Policy.AT_MOST_ONCE)
    await publisher.enqueue([new, new])
    assert [(e.action, e.source) for e in desk.log.tail(10)] == [("msg.queue", "bus")] * 2
    with pytest.raises(ChannelError):
        publisher.prepare("bell", BusEntry("tower", ""))
    assert "fire" not in json.dumps([str(e) for e in desk.log.tail(10)])
