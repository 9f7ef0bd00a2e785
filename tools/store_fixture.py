"""Write what this version keeps in Redis and in tocsin.db as text, for tests of later versions: run it at each release.

    .venv/bin/python -m tools.store_fixture tests/assembly/kept_by/0.1.0

It needs redis-server, and fills both stores with deliveries, events and records in every state.
"""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tocsin.assembly.storage import schemas
from tocsin.bot.contract import ChatMode
from tocsin.bot.door.access_store import AccessState
from tocsin.bot.skill_mode.plans import Step
from tocsin.bot.storage.shared_stores import redis_bot_stores
from tocsin.bot.storage.stores import BotStores, sqlite_bot_stores
from tocsin.bot.talk.redis_sessions import RedisSessions
from tocsin.bot.talk.sessions import SessionEntry
from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind, Quote
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus, NewDelivery, Policy
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import ChannelRules, DeliveryStore
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.redis.store import RedisInbox
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.store import InboxStore
from tocsin.messaging.outbound.idempotency import IdempotencyKeys, SqliteKeys
from tocsin.messaging.outbound.redis_idempotency import RedisKeys
from tocsin.testing import FakeClock

RULES = {"bell": ChannelRules(), "horn": ChannelRules()}
SENT = AttemptOutcome(DeliveryStatus.SENT, parts_sent=1, parts_total=1, provider_id="ts=1", duration_ms=12)
DEAD = AttemptOutcome(DeliveryStatus.DEAD, error="no such target", error_class="permanent")
RETRY = AttemptOutcome(DeliveryStatus.RETRY_WAIT, error="refused", error_class="transient", wait_s=60)
OUTCOMES = {"sent": SENT, "dead": DEAD, "waits for its retry": RETRY}


def message(text: str, chat: str, key: str, **values: Any) -> InboundMessage:
    values.setdefault("kind", MessageKind.MESSAGE)
    return InboundMessage("bell", id=key, dedupe_keys=(key,), chat_id=chat, text=text, sent_at=5.0, **values)


async def fill_queue(queue: DeliveryStore, clock: FakeClock) -> None:
    """Have a delivery in every state that a kill may leave."""

    def new(text: str, target: str, **terms: Any) -> NewDelivery:
        return NewDelivery("bell", target, text, "test", **terms)

    await queue.enqueue_many(
        [
            *(new("sent", "a", idempotency_key="k1"), new("queued", "a", extra={"thread": "7"}), new("dead", "b")),
            *(new("waits for its retry", "c"), new("later", "d", not_before=clock.now() + 500)),
            *(new("in flight", "e"), new("in flight, once", "f", policy=Policy.AT_MOST_ONCE)),
        ]
    )
    for delivery in await queue.claim_due("killed", 9, RULES):
        if outcome := OUTCOMES.get(delivery.message):
            await queue.finish("killed", delivery.id, outcome)
    await queue.hold_account("horn", 3600, "slow down")


async def fill_keys(keys: IdempotencyKeys) -> None:
    await keys.begin("answered", "digest")
    await keys.finish("answered", 202, '{"id": "1"}')
    await keys.begin("interrupted", "digest")


async def fill_inbox(inbox: InboxStore) -> None:
    """Have events in every state, of every kind, of a process that was killed."""
    photo = Attachment("photo", "f1", mime="image/png", size=3, width=3)
    quote = Quote(sender_name="Ann", text="before", attachments=(photo,))
    accepted = await inbox.accept(
        [
            *(message("ended", "x", "e1"), message("in work", "x", "e2", attachments=(photo,), quote=quote)),
            *(message("answered in part", "y", "e3"), message("", "z", "e4", kind=MessageKind.COMMAND, command="help")),
            *(message("", "z", "e5", kind=MessageKind.CALLBACK, callback_id="c1", callback_data="mode:chat"),),
            *(message("corrected", "x", "e6", kind=MessageKind.EDIT), message("new", "w", "e7")),
        ],
        "killed",
        ("bell", 17),
    )
    ended, in_work, answered, *_ = (ticket.seq for ticket in accepted if ticket)
    await inbox.claim([ended, in_work, answered], "killed")
    await inbox.begin(in_work, "killed")
    await inbox.finish(ended, "killed", HandlingStatus.ANSWERED)
    replies = [Reply("half of it", "", {"buttons": []}), Reply("the rest")]
    await inbox.outcome(answered, "killed", HandlingStatus.ANSWERED, replies, "as asked")


async def fill_bot(bot: BotStores) -> None:
    await bot.access.request("7", {"name": "Ann"})
    await bot.access.record_admin_notice("7", "delivery-1")
    await bot.access.decide("8", AccessState.ALLOWED)
    await bot.access.decide("9", AccessState.DENIED)
    await bot.access.record_move("-1", "-100")
    await bot.persistence.set_mode("8", ChatMode.SKILL)
    await bot.persistence.keep_preview("event-1", "41")
    await bot.plans.restore(plan_of(await bot.plans.add("8", [Step("save the files", "backup")])), "")


def plan_of(plan: Any) -> Any:
    """Return the plan under an ID that a test can name."""
    return type(plan)("0123456789abcdef", plan.chat_id, plan.steps)


async def fill_sessions(client: RedisClient) -> None:
    sessions = RedisSessions(client, ttl_s=86_400, window=20)
    said = [SessionEntry("8", "user", "hello", "40"), SessionEntry("8", "assistant", "Good day")]
    await sessions.append("8", said, "event-0")


async def redis_contents(client: RedisClient) -> dict[str, Any]:
    """Return every key with its type and its content; lists, hashes and the rest are lists of text."""
    reads = {
        "string": ("GET",),
        "hash": ("HGETALL",),
        "list": ("LRANGE", "0", "-1"),
        "set": ("SMEMBERS",),
        "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
        "stream": ("XRANGE", "-", "+"),
    }
    found: dict[str, Any] = {}
    async for names in client.scan("*"):
        for name in names:
            kind = bytes(await client.command("TYPE", name)).decode()
            command, *options = reads[kind]
            found[name.decode()] = [kind, text_of(await client.command(command, name, *options))]
    return dict(sorted(found.items()))


def text_of(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return {text_of(name): text_of(value) for name, value in answer.items()}
    if isinstance(answer, (list, tuple, set)):
        return [text_of(item) for item in answer]
    return answer.decode() if isinstance(answer, bytes) else answer


async def fill_redis(url: str) -> dict[str, Any]:
    client, clock = open_redis(url), FakeClock(time.time())
    try:
        await fill_queue(RedisStore(client, clock), clock)
        await fill_keys(RedisKeys(client))
        await fill_inbox(RedisInbox(client, clock))
        await fill_bot(redis_bot_stores(client))
        await fill_sessions(client)
        return await redis_contents(client)
    finally:
        await client.aclose()


async def fill_database(path: Path) -> None:
    database, clock = Database(path, lambda: schemas(())), FakeClock(time.time())
    await fill_queue(SqliteStore(database, clock), clock)
    await fill_keys(SqliteKeys(database, clock))
    await fill_inbox(SqliteInbox(database, clock))
    await fill_bot(sqlite_bot_stores(database, clock))
    await database.aclose()


def write_redis(folder: Path, scratch: Path) -> None:
    program = shutil.which("redis-server")
    if not program:
        sys.exit("this needs redis-server (Debian: apt-get install redis-server)")
    socket = scratch / "redis.sock"
    arguments = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(scratch))
    with subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL) as server:
        while not socket.exists():
            time.sleep(0.01)
        try:
            found = asyncio.run(fill_redis(f"unix://{socket}"))
        finally:
            server.terminate()
    lines = (f"{json.dumps(name)}: {json.dumps(content, ensure_ascii=False)}" for name, content in found.items())
    (folder / "redis.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_database(folder: Path, scratch: Path) -> None:
    path = scratch / "tocsin.db"
    asyncio.run(fill_database(path))
    connection = sqlite3.connect(path)
    # What is searched for words is in the table of the deliveries; the index of the words is made anew.
    lines = (line for line in connection.iterdump() if not line.startswith('INSERT INTO "delivery_words" '))
    (folder / "tocsin.db.sql").write_text("\n".join(lines) + "\n")
    connection.close()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="redis-") as scratch:
        write_redis(folder, Path(scratch))
        write_database(folder, Path(scratch))


if __name__ == "__main__":
    main()
