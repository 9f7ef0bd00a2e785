"""An update: what the version before has left in Redis and in tocsin.db is taken over, and what is written it can read.

`kept_by/` holds what that version wrote, as text; `tools/store_fixture.py` has made it.
"""

import json
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tools.store_fixture import RULES, SENT, fill_redis

from tocsin.assembly.storage import schemas
from tocsin.assembly.stores import DATABASE_FILE
from tocsin.bot.storage.shared_stores import redis_bot_stores
from tocsin.bot.storage.stores import BotStores, sqlite_bot_stores
from tocsin.bot.talk.redis_sessions import RedisSessions
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient
from tocsin.delivery.model import NewDelivery
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter, DeliveryStore
from tocsin.messaging.inbound.handling import HandlingStatus
from tocsin.messaging.inbound.redis.store import RedisInbox
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.store import InboxStore
from tocsin.messaging.outbound.idempotency import IdempotencyKeys, SqliteKeys, StoredResponse
from tocsin.messaging.outbound.redis_idempotency import RedisKeys
from tocsin.testing import FakeClock

KEPT_BY = Path(__file__).parent / "kept_by"
VERSIONS = sorted(folder.name for folder in KEPT_BY.iterdir())
# What this version writes and the one before does not know: by family of keys, with what the one before does about it.
NEWER: Mapping[str, str] = {
    "{tocsin:bot}:old-ids": "it reads all moves; its own are added when a process of this version starts",
    "{tocsin:inbox}:e:…": "it ignores the scopes of who is signed in, and has no channel on which a session presses",
}
# What this version no longer writes, and what a process of the version before does without it.
GONE = {
    "{tocsin:bot}:pending": "it counts only the requests that it has stored itself, and asks the admin about more",
    "{tocsin:bot}:former:…": "it does not know what was decided about a group under its former ID, and asks the admin",
}


class Kept(NamedTuple):
    """All that a version keeps for messages."""

    queue: DeliveryStore
    keys: IdempotencyKeys
    inbox: InboxStore
    bot: BotStores


async def load(client: RedisClient, contents: Mapping[str, Any]) -> None:
    """Write the keys as they were, in this moment: the server's clock has gone on from there."""
    seconds, rest = await client.command("TIME")
    for key, (kind, content) in contents.items():
        match kind:
            case "string":
                await client.command("SET", key, content)
            case "hash":
                now = {"server": int(seconds) * 1_000_000 + int(rest)} if key.endswith(":clock") else {}
                await client.command("HSET", key, *(word for pair in (content | now).items() for word in pair))
            case "list":
                await client.command("RPUSH", key, *content)
            case "set":
                await client.command("SADD", key, *content)
            case "zset":
                scores = [seconds] * len(content[1::2]) if key.endswith("-by-time") else content[1::2]
                await client.command("ZADD", key, *chain.from_iterable(zip(scores, content[::2], strict=True)))
            case "stream":
                for at, fields in content:
                    await client.command("XADD", key, at, *fields)
            case _:
                raise AssertionError(kind)


def contents_of(version: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((KEPT_BY / version / "redis.json").read_text())
    return found


def moment_of(version: str) -> float:
    """Return the wall time at which the version wrote its deliveries."""
    records = (content for key, (_, content) in contents_of(version).items() if ":d:" in key)
    return float(json.loads(next(records)["fixed"])["created_at"])


@asynccontextmanager
async def in_redis(version: str, clock: FakeClock, url: str, _: Path) -> AsyncIterator[Kept]:
    client = patient_redis(url)
    await client.command("FLUSHALL")
    await load(client, contents_of(version))
    yield Kept(RedisStore(client, clock), RedisKeys(client), RedisInbox(client, clock), redis_bot_stores(client))
    await client.aclose()


@asynccontextmanager
async def in_sqlite(version: str, clock: FakeClock, _: str, place: Path) -> AsyncIterator[Kept]:
    connection = sqlite3.connect(place / DATABASE_FILE)
    connection.executescript((KEPT_BY / version / "tocsin.db.sql").read_text())
    connection.close()
    database = Database(place / DATABASE_FILE, lambda: schemas(()))
    bot = sqlite_bot_stores(database, clock)
    yield Kept(SqliteStore(database, clock), SqliteKeys(database, clock), SqliteInbox(database, clock), bot)
    await database.aclose()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("opened", [in_redis, in_sqlite])
async def test_what_the_version_before_has_left_goes_on(
    version: str, opened: Any, unsaved_redis: RedisServer, tmp_path: Path
):
    clock = FakeClock(moment_of(version))
    async with opened(version, clock, unsaved_redis.url, tmp_path) as kept:
        await check_queue(kept.queue, clock)
        assert await kept.keys.begin("answered", "digest") == StoredResponse(202, '{"id": "1"}')
        await check_inbox(kept.inbox)
        await check_bot(kept.bot)


async def check_queue(queue: DeliveryStore, clock: FakeClock) -> None:
    assert list(await queue.account_holds(["bell", "horn"])) == ["horn"]
    [known] = await queue.enqueue_many([NewDelivery("bell", "a", "sent", "test", idempotency_key="k1")])
    assert (known.message, known.status, known.provider_id) == ("sent", "sent", "ts=1")
    for _ in range(4):  # leases end, then the retry and what was for later are due
        clock.advance(200)
        for delivery in await queue.claim_due("new", 9, RULES):
            assert (delivery.message != "queued") or dict(delivery.extra) == {"thread": "7"}
            assert await queue.finish("new", delivery.id, SENT)
    ended = {one.message: str(one.status) for one in (await queue.search(DeliveryFilter())).items}
    assert ended == {
        **dict.fromkeys(["sent", "queued", "waits for its retry", "later", "in flight"], "sent"),
        "dead": "dead",
        "in flight, once": "uncertain",
    }


async def check_inbox(inbox: InboxStore) -> None:
    assert await inbox.cursor("bell") == 17
    repeat = InboundMessage("bell", MessageKind.MESSAGE, "e7", ("e7",), "w", "new")
    assert await inbox.accept([repeat], "new") == [None]
    tickets = await inbox.adopt("killed", "new")
    claim = await inbox.claim([ticket.seq for ticket in tickets], "new")
    assert (claim.waiting, claim.unknown) == (set(), frozenset())
    found = {entry.message.id: entry for entry in claim.events if entry.message}
    kinds = {name: str(entry.kind) for name, entry in found.items()}
    assert kinds == {
        **dict.fromkeys(["e2", "e3", "e7"], "message"),
        "e4": "command",
        "e5": "callback",
        "e6": "edit",
    }
    message = found["e2"].message
    assert message is not None
    assert message.quote is not None
    assert (found["e2"].attempts, message.attachments[0].file_id, message.quote.sender_name) == (1, "f1", "Ann")
    assert [reply.text for reply in found["e3"].replies] == ["half of it", "the rest"]
    for entry in claim.events:
        assert await inbox.finish(entry.seq, "new", HandlingStatus.ANSWERED)
    assert await inbox.owners() == {}


async def check_bot(bot: BotStores) -> None:
    records = {record.chat_id: record for record in await bot.access.records()}
    assert {chat: str(record.state) for chat, record in records.items()} == {
        "7": "pending",
        "8": "allowed",
        "9": "denied",
    }
    assert (records["7"].admin_told, records["7"].notice, records["7"].details) == (True, "delivery-1", {"name": "Ann"})
    assert await bot.access.moves() == [("-1", "-100")]
    assert (await bot.persistence.mode("8"), await bot.persistence.preview("event-1")) == ("skill", "41")
    plans = {plan.id: plan for plan, _ in await bot.plans.stored()}
    assert plans["0123456789abcdef"].steps[0].skill == "backup"


@pytest.mark.parametrize("version", VERSIONS)
async def test_conversations_go_on_after_the_update(version: str, unsaved_redis: RedisServer):
    client = patient_redis(unsaved_redis.url)
    await client.command("FLUSHALL")
    await load(client, contents_of(version))
    sessions = RedisSessions(client, ttl_s=60, window=20)
    assert [entry.content for entry in await sessions.get("8")] == ["hello", "Good day"]
    assert not await sessions.append("8", [], "event-0"), "an exchange that was kept is not kept again"
    await client.aclose()


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_this_version_writes_is_what_the_version_before_knows(version: str, unsaved_redis: RedisServer):
    client = patient_redis(unsaved_redis.url)
    await client.command("FLUSHALL")
    await client.aclose()
    before, now = shapes(contents_of(version)), shapes(await fill_redis(unsaved_redis.url))
    added = {family: sorted(fields - before.get(family, set())) for family, fields in now.items()}
    new = {family: fields for family, fields in added.items() if fields and family not in NEWER}
    assert new == {}, "name it in NEWER, with what a process of the version before does about it"
    missing = {name: sorted(fields - now.get(name, set())) for name, fields in before.items() if name not in GONE}
    assert {family: fields for family, fields in missing.items() if fields} == {}, "the version before looks for it"


async def test_what_a_newer_version_has_added_stops_nothing_and_opens_no_door(unsaved_redis: RedisServer):
    contents = contents_of(VERSIONS[-1])
    _rewrite(contents, ":d:", "fixed", policy="exactly_once", mood="merry")
    _rewrite(contents, ":e:", "message", mood="merry")
    access, plans = contents["{tocsin:bot}:access"][1], contents["{tocsin:bot}:plans"][1]
    access["8"] = json.dumps({"state": "trusted", "details": "{}", "at": "1"})
    plan = json.loads(plans["0123456789abcdef"])
    plans["0123456789abcdef"] = json.dumps(plan | {"steps": '[{"requirement": "x", "skill": "backup", "mood": 1}]'})
    contents["{tocsin:bot}:modes"][1]["8"] = "dreamer"
    clock, client = FakeClock(moment_of(VERSIONS[-1])), patient_redis(unsaved_redis.url)
    await client.command("FLUSHALL")
    await load(client, contents)
    queue, inbox, bot = RedisStore(client, clock), RedisInbox(client, clock), redis_bot_stores(client)
    [claimed] = await queue.claim_due("new", 9, RULES)
    assert (claimed.message, claimed.policy) == ("queued", "at_most_once"), "what is not known sends nothing twice"
    tickets = await inbox.adopt("killed", "new")
    claim = await inbox.claim([ticket.seq for ticket in tickets], "new")
    assert (len(claim.events), claim.unknown) == (6, frozenset())
    states = {record.chat_id: str(record.state) for record in await bot.access.records()}
    assert states == {"7": "pending", "8": "denied", "9": "denied"}, "what is not known lets nobody in"
    assert await bot.persistence.mode("8") == "chat"
    assert (await bot.plans.take("0123456789abcdef", "8", "event-9")) is not None
    await client.aclose()


def _rewrite(contents: Mapping[str, Any], family: str, field: str, **changes: str) -> None:
    """Change a JSON field of every record of a family."""
    for key, (_, record) in contents.items():
        if family in key and field in record:
            record[field] = json.dumps(json.loads(record[field]) | changes)


def shapes(contents: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return by family of keys its type and the fields of its records."""
    found: dict[str, set[str]] = {}
    for key, (kind, content) in contents.items():
        fields = found.setdefault(_family(key), set())
        fields.add(kind)
        if kind == "hash" and re.search(r":(d|e):", key):
            fields |= set(content)
        values = content.values() if kind == "hash" else content if kind == "list" else []
        for value in values:
            if value.startswith(("{", "[{")):
                record = json.loads(value)
                fields |= {name for one in (record if isinstance(record, list) else [record]) for name in one}
    return found


def _family(key: str) -> str:
    key = re.sub(r"(?<=[:}])(d|e|lane|target|chat|keys|due|channel|open|former):.*", r"\1:…", key)
    return re.sub(r"(idempotency|session):[^}]*", r"\1:…", key)
