"""Everything moves between the two stores, once, whatever ends the move."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import Cli
from tests.delivery.conftest import RedisServer
from tests.delivery.store_contract import RULES, SENT, new, retry, two_clocks
from tests.messaging.inbound.inbox_hall import message
from tests.redis_clients import patient_redis

from tocsin.assembly.files import files_in_folder, files_in_redis
from tocsin.assembly.migration.moves import REDIS, SQLITE, ServicesRunError, open_migration
from tocsin.assembly.storage import schemas
from tocsin.assembly.stores import DATABASE_FILE
from tocsin.bot.door.access_store import AccessState
from tocsin.bot.storage.shared_stores import redis_bot_stores
from tocsin.bot.storage.stores import BotStores, sqlite_bot_stores
from tocsin.core.config.core_variables import REDIS_URL
from tocsin.core.config.settings import Settings
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.document import ChannelDocument, SqliteDocument
from tocsin.core.storage.documents.redis_document import RedisDocument
from tocsin.delivery.model import Delivery, DeliveryStatus, Policy
from tocsin.delivery.redis.moving import RedisDeliveries
from tocsin.delivery.redis.store import RedisStore, former_names
from tocsin.delivery.sqlite.moving import SqliteDeliveries
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter, DeliveryStore
from tocsin.messaging.inbound.redis.store import RedisInbox
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.store import InboxStore
from tocsin.messaging.outbound.idempotency import IdempotencyKeys, SqliteKeys, StoredResponse
from tocsin.messaging.outbound.redis_idempotency import RedisKeys
from tocsin.runs.approvals import StepQuestion, WaitingStep
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import RunSpec, RunStatus, RunTrigger, StepRun, new_run
from tocsin.runs.redis.records import redis_runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import RunTask
from tocsin.testing.fakes import FakeClock

WAITS = replace(
    new_run(RunSpec("workflow", "flow", "flow", RunTrigger.MANUAL), RunStatus.RUNNING, 1.0),
    steps=(StepRun("ask", "wait", RunStatus.RUNNING),),
)
QUEUED = new_run(RunSpec("workflow", "flow", "flow", RunTrigger.MANUAL), RunStatus.QUEUED, 1.0)


class Side(NamedTuple):
    """All that one of the two keeps."""

    queue: DeliveryStore
    keys: IdempotencyKeys
    inbox: InboxStore
    bots: BotStores
    runs: RunStore


@pytest.fixture
def settings(tmp_path: Path, private_redis: RedisServer) -> Settings:
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": private_redis.url}
    return Settings.load(environ=environ, env_file=Path("/dev/null"))


@asynccontextmanager
async def opened(settings: Settings, where: str, clock: FakeClock) -> AsyncIterator[Side]:
    database = Database(settings.data_dir / DATABASE_FILE, lambda: schemas(()))
    client = patient_redis(settings[REDIS_URL])
    try:
        if where == SQLITE:
            records = sqlite_bot_stores(database, clock)
            yield Side(
                SqliteStore(database, clock),
                SqliteKeys(database, clock),
                SqliteInbox(database, clock),
                records,
                sqlite_runs(database),
            )
        else:
            yield Side(
                RedisStore(client, clock),
                RedisKeys(client),
                RedisInbox(client, clock),
                redis_bot_stores(client),
                redis_runs(client, "here"),
            )
    finally:
        await database.aclose()
        await client.aclose()


async def migrate(settings: Settings, to: str, clock: FakeClock) -> dict[str, int]:
    async with open_migration(settings, (), to, clock) as migration:
        counts = await migration.counts()
        assert await migration.run(lambda *_: None) == counts
        return counts


async def fill(side: Side, clock: FakeClock) -> None:
    """Have a delivery in every state that moves, answered and open requests, events, and decisions."""
    accepted = await side.queue.enqueue_many(
        [
            *(new("sent", "a", idempotency_key="k1"), new("second", "a"), new("third", "a")),
            *(new("waits", "b", policy=Policy.AT_MOST_ONCE), new("later", "c", not_before=clock.now() + 500)),
            new("held up", "d"),
        ]
    )
    assert len(accepted) == 6
    for delivery in await side.queue.claim_due("w1", 9, RULES):
        if delivery.message in {"sent", "waits"}:
            await side.queue.finish("w1", delivery.id, SENT if delivery.message == "sent" else retry(60))
        else:  # its worker is killed
            assert delivery.message == "held up"
    await side.keys.begin("answered", "digest")
    await side.keys.finish("answered", 202, "body")
    await side.keys.begin("interrupted", "digest")
    await side.inbox.accept([message("one", "x", "e1"), message("two", "x", "e2")], "dead", ("bell", 17))
    for run in (WAITS, QUEUED):
        await side.runs.add(run, "", RunTask({"file": "x"}))
    await side.runs.approvals.wait_for(WaitingStep(WAITS.id, StepQuestion("ask", "Go?"), 2.0))
    await side.bots.access.request("7", {"name": "Ann"})
    await side.bots.access.decide("7", AccessState.ALLOWED)


async def records(side: Side) -> dict[str, Delivery]:
    return {one.message: one for one in (await side.queue.search(DeliveryFilter())).items}


@pytest.mark.parametrize(("source", "target"), [(SQLITE, REDIS), (REDIS, SQLITE)], ids=["to redis", "to sqlite"])
async def test_everything_that_waits_goes_on_in_the_other_store(settings: Settings, source: str, target: str):
    clock = two_clocks()
    async with opened(settings, source, clock) as side:
        await fill(side, clock)
        before = await records(side)
    counts = await migrate(settings, target, clock)
    assert counts == {
        "idempotency keys of requests": 2,
        "deduplication keys of events": 2,
        "received events": 2,
        "cursors": 1,
        "records of channels": 0,
        "files of messages": 0,
        "deliveries": 6,
        "runs": 2,
        "access decisions": 1,
    }
    async with opened(settings, source, clock) as side:
        assert await records(side) == {}, "no service that still has the old setting sends anything"
        assert (await side.inbox.backlog()).counts == {}
        assert await side.runs.count(RunFilter()) == 0
    async with opened(settings, target, clock) as side:
        after = await records(side)
        assert after["waits"].policy is Policy.AT_MOST_ONCE
        assert after["waits"].status is DeliveryStatus.RETRY_WAIT
        assert after["held up"].failures == 1, "its worker died, by its policy it is sent again"
        for name in ("sent", "second", "third", "later"):
            assert (after[name].id, after[name].status) == (before[name].id, before[name].status)
        assert (await side.queue.enqueue_many([new("again", "a", idempotency_key="k1")]))[0].message == "sent"
        assert {one.message for one in await side.queue.claim_due("w2", 9, RULES)} == {"second", "held up"}
        clock.advance(90)
        claimed = {one.message for one in await side.queue.claim_due("w2", 9, RULES)}
        assert "waits" in claimed
        assert not claimed & {"third", "later"}, "the lane of the third is taken, and the last has its time"
        assert await side.keys.begin("answered", "digest") == StoredResponse(202, "body")
        assert await side.keys.begin("interrupted", "digest") == StoredResponse()
        assert await side.inbox.accept([message("one", "x", "e1")], "w2") == [None], "it is known"
        assert await side.inbox.cursor("bell") == 17
        events = await side.inbox.adopt("", "w2")
        claim = await side.inbox.claim([event.seq for event in events], "w2")
        assert [event.message.text for event in claim.events if event.message] == ["one", "two"]
        assert [record.state for record in await side.bots.access.records()] == [AccessState.ALLOWED]
        assert (await side.runs.left()).at_work == [WAITS.id]
        assert [wait.question.message for wait in await side.runs.approvals.waiting(WAITS.id)] == ["Go?"]
        assert (await side.runs.get(WAITS.id)).steps == WAITS.steps
        assert await side.runs.request_of(QUEUED.id) == {"file": "x"}


async def test_a_move_that_was_killed_goes_on_and_doubles_nothing(settings: Settings):
    clock = two_clocks()
    async with opened(settings, SQLITE, clock) as side:
        await fill(side, clock)
    database = Database(settings.data_dir / DATABASE_FILE, lambda: schemas(()))
    client = patient_redis(settings[REDIS_URL])
    here = SqliteDeliveries(database, clock)
    await RedisDeliveries(client, clock, former_names(client)).take_in(await here.oldest(2))  # killed before `remove`
    await database.aclose()
    await client.aclose()
    await migrate(settings, REDIS, clock)
    async with opened(settings, REDIS, clock) as side:
        assert sum((await side.queue.counts()).values()) == 6
    assert set((await migrate(settings, REDIS, clock)).values()) == {0, 1}, "decisions are copied"


async def test_a_later_decision_about_a_chat_wins(settings: Settings):
    clock = two_clocks()
    async with opened(settings, SQLITE, clock) as side:
        await side.bots.access.decide("7", AccessState.ALLOWED)
        await side.bots.access.decide("8", AccessState.ALLOWED)
    await migrate(settings, REDIS, clock)
    async with opened(settings, REDIS, clock) as side:
        await side.bots.access.decide("7", AccessState.DENIED)
        await side.bots.access.forget("8")
    await migrate(settings, SQLITE, clock)
    async with opened(settings, SQLITE, clock) as side:
        assert [(one.chat_id, one.state) for one in await side.bots.access.records()] == [("7", AccessState.DENIED)]


async def test_nothing_moves_while_a_service_works(settings: Settings):
    clock = two_clocks()
    async with opened(settings, SQLITE, clock) as side:
        await fill(side, clock)
        with pytest.raises(ServicesRunError, match=r"tocsin\.db"):
            await migrate(settings, REDIS, clock)
    client = patient_redis(settings[REDIS_URL])
    await client.command("SET", "tocsin:bridge", "a gateway")
    with pytest.raises(ServicesRunError, match="process"):
        await migrate(settings, REDIS, clock)
    await client.command("DEL", "tocsin:bridge")
    await client.aclose()
    assert (await migrate(settings, REDIS, clock))["deliveries"] == 6


def test_the_command_moves_and_tells_what_to_set(tmp_path: Path, private_redis: RedisServer):
    cli = Cli(tmp_path, {"REDIS_URL": private_redis.url})
    assert cli("send", "botchat", "7", "hello", "--queue", env={"BOTCHAT_BOT_TOKEN": "1:made-up"}).code == 0
    dry = cli("store", "migrate", "--to", "redis", "--dry-run", "--json")
    assert dry.json()["moved"]["deliveries"] == 1
    done = cli("store", "migrate", "--to", "redis")
    assert (done.code, "STORE=redis" in done.out) == (0, True)
    assert "deliveries: 1 of 1" in done.err
    (counted,) = cli("deliveries", "list", "--json", env={"STORE": "redis"}).json()
    assert counted["status"] == "queued"
    assert '"to": "redis"' in cli("audit", "search", "store.migrate", "--json").out
    assert "Redis" in cli("store", "migrate", "--to", "redis", env={"REDIS_URL": "off"}).err


@pytest.mark.parametrize(("source", "target"), [(SQLITE, REDIS), (REDIS, SQLITE)], ids=["to redis", "to sqlite"])
async def test_the_files_of_messages_move_before_their_deliveries(settings: Settings, source: str, target: str):
    clock = two_clocks()
    client = patient_redis(settings[REDIS_URL])
    stores = {SQLITE: files_in_folder(settings, clock), REDIS: files_in_redis(settings, client, clock)}

    async def blocks() -> AsyncIterator[bytes]:
        yield b"line"

    stored = await stores[source].add(blocks())
    attach = [{"name": "a.log", "hash": stored.hash, "size": stored.size}]
    async with opened(settings, source, clock) as side:
        await side.queue.enqueue_many([replace(new("with a file", "a"), extra={"content": {"attach": attach}})])
    assert (await migrate(settings, target, clock))["files of messages"] == 1
    assert (await stores[source].hashes(), await stores[target].hashes()) == (frozenset(), {stored.hash})
    async with opened(settings, target, clock) as side:
        assert await side.queue.needed_files(clock.now()) == {stored.hash}
    await client.aclose()


@pytest.mark.parametrize(("source", "target"), [(SQLITE, REDIS), (REDIS, SQLITE)], ids=["to redis", "to sqlite"])
async def test_what_channels_keep_moves_and_does_not_replace_what_is_there(
    settings: Settings, source: str, target: str
):
    client, file = patient_redis(settings[REDIS_URL]), settings.data_dir / DATABASE_FILE

    @asynccontextmanager
    async def documents(where: str) -> AsyncIterator[Callable[[str], ChannelDocument]]:
        database = Database(file, lambda: schemas(()))
        yield partial(SqliteDocument, database) if where == SQLITE else partial(RedisDocument, client)
        await database.aclose()

    async with documents(source) as kept:
        await kept("webpush").change(lambda _: "keys")
        await kept("other").change(lambda _: "old")
    async with documents(target) as kept:
        await kept("other").change(lambda _: "new")
    assert (await migrate(settings, target, two_clocks()))["records of channels"] == 2
    async with documents(target) as kept:
        assert [await kept(name).read() for name in ("webpush", "other")] == ["keys", "new"]
    async with documents(source) as kept:
        assert await kept("webpush").read() == ""
    await client.aclose()
