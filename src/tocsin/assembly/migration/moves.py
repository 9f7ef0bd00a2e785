"""Move the records that STORE covers from one store to the other, while no service runs."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

from tocsin.assembly.files import files_in_folder, files_in_redis
from tocsin.assembly.migration.movable import Move
from tocsin.assembly.migration.movable_files import MovableFiles
from tocsin.assembly.migration.movable_runs import MovableRuns
from tocsin.assembly.storage import schemas
from tocsin.assembly.stores import DATABASE_FILE, lazy_redis
from tocsin.bot.storage.shared_stores import redis_bot_stores
from tocsin.bot.storage.stores import BotStores, copy_bot_records, sqlite_bot_stores
from tocsin.core.audit.actions import AuditAction, AuditField
from tocsin.core.config.core_variables import REDIS_URL
from tocsin.core.config.data_dir import shared_name
from tocsin.core.config.settings import Settings
from tocsin.core.errors import MissingSettingError, TocsinError
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.moving import RedisDocuments, SqliteDocuments
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.delivery.bus.bus import BRIDGE
from tocsin.delivery.model import LEASE_S, DeliveryStatus
from tocsin.delivery.redis.moving import RedisDeliveries
from tocsin.delivery.redis.store import RedisStore, former_names
from tocsin.delivery.sqlite.moving import SqliteDeliveries
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryStore
from tocsin.features.contract import Feature
from tocsin.messaging.inbound.redis import moving as inbox_there
from tocsin.messaging.inbound.sqlite_moving import SqliteCursors, SqliteDedupeKeys, SqliteEvents
from tocsin.messaging.outbound.key_moving import RedisKeyRecords, SqliteKeyRecords
from tocsin.runs.redis.records import RedisRunRecords
from tocsin.runs.sqlite.records import SqliteRunRecords

SQLITE, REDIS = "sqlite", "redis"
LOOK_S = 0.5
# How long two leases of a killed process last: the one for listening to PUBLISH, and those of deliveries.
LISTENER_S, WORKER_S = 3.0, LEASE_S + 2
_STOP = "stop all services of Tocsin on all hosts, then run the command again: it continues where it stopped"

_TO = AuditField("to", "store that contains the records now")
_MOVED = AuditField("moved", "number of moved records, by kind")
STORE_MIGRATE = AuditAction("store.migrate", "All message records were moved to the other store.", (_TO, _MOVED))

OnProgress = Callable[[str, int, int], None]  # kind of records, number moved, total


class ServicesRunError(TocsinError):
    """A service uses one of the stores."""

    code = "services-run"


class StoreMigration:
    """A migration in one direction; running it again continues it."""

    def __init__(self, settings: Settings, database: Database, client: RedisClient, clock: Clock, to: str) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._to = to
        self._moves = _moves(settings, database, client, clock, to)

    async def counts(self) -> dict[str, int]:
        """Return the number of records of each kind to move; access decisions are copied."""
        source, _ = self._bots()
        found = {move.what: await move.count() for move in self._moves}
        return {**found, "access decisions": len(await source.access.records())}

    async def run(self, on_progress: OnProgress) -> dict[str, int]:
        """Move all records and return their numbers; raise ServicesRunError, moving none, while a service delivers."""
        await self._wait_until_nothing_is_sent()
        totals = await self.counts()
        done = {}
        for move in self._moves:
            done[move.what] = await move.run(partial(_report, on_progress, move.what, totals[move.what]))
        source, target = self._bots()
        done["access decisions"] = await _move_decisions(source, target, own=self._to == SQLITE)
        return done

    async def _wait_until_nothing_is_sent(self) -> None:
        """Wait until the leases of killed workers have expired; claiming then applies the policy of each delivery."""
        queue, until = self._queue(), self._clock.monotonic() + WORKER_S
        while True:
            await queue.claim_due("migration", 0, {})
            if not (sending := (await queue.counts())[DeliveryStatus.SENDING]):
                return
            if self._clock.monotonic() > until:
                raise ServicesRunError(f"{sending} messages are being sent", hint=_STOP)
            await self._clock.sleep(LOOK_S)

    def _queue(self) -> DeliveryStore:
        if self._to == SQLITE:
            return RedisStore(self._client, self._clock)
        return SqliteStore(self._database, self._clock)

    def _bots(self) -> tuple[BotStores, BotStores]:
        here, there = sqlite_bot_stores(self._database, self._clock), redis_bot_stores(self._client)
        return (there, here) if self._to == SQLITE else (here, there)


@asynccontextmanager
async def open_migration(
    settings: Settings, features: Sequence[Feature], to: str, clock: Clock | None = None
) -> AsyncIterator[StoreMigration]:
    """Open both stores; raise ServicesRunError while a service uses one of them."""
    if not settings[REDIS_URL]:
        raise MissingSettingError(
            "Redis is disabled by REDIS_URL=off, so no data can be moved to or from it", hint="set REDIS_URL"
        )
    clock = clock or SystemClock()
    file = settings.data_dir / DATABASE_FILE
    if await asyncio.to_thread(is_in_use, file):
        raise ServicesRunError(f"a Tocsin process uses {file}", hint=_STOP)
    redis = lazy_redis(settings)
    database = Database(file, lambda: schemas(features))
    try:
        await _refuse_listeners(redis(), clock)
        yield StoreMigration(settings, database, redis(), clock, to)
    finally:
        await database.aclose()
        await redis.aclose()


def is_in_use(path: Path) -> bool:
    """Return whether a process has the database open, even an idle one.

    Leaving the write-ahead log requires exclusive access, and each open connection holds a lock.
    """
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=0.5)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            return True
    return False


async def _refuse_listeners(client: RedisClient, clock: Clock) -> None:
    """Raise ServicesRunError if a service uses Redis: one always holds the lease for listening to PUBLISH."""
    until = clock.monotonic() + LISTENER_S
    while await client.command("EXISTS", BRIDGE):
        if clock.monotonic() > until:
            raise ServicesRunError(f"a Tocsin process uses Redis at {client.where}", hint=_STOP)
        await clock.sleep(LOOK_S)


def _moves(settings: Settings, database: Database, client: RedisClient, clock: Clock, to: str) -> list[Move[Any]]:
    home = shared_name(settings.data_dir)
    folder, chunks = files_in_folder(settings, clock), files_in_redis(settings, client, clock)
    kinds: list[tuple[str, Any, Any]] = [  # name, records in SQLite, records in Redis
        # The keys that detect repeats come first, so that none passes if the move is killed after them.
        ("idempotency keys of requests", SqliteKeyRecords(database, clock), RedisKeyRecords(client)),
        ("deduplication keys of events", SqliteDedupeKeys(database, clock), inbox_there.RedisDedupeKeys(client, clock)),
        ("received events", SqliteEvents(database), inbox_there.RedisEvents(client, clock)),
        ("cursors", SqliteCursors(database), inbox_there.RedisCursors(client)),
        # Before the deliveries that need them.
        ("records of channels", SqliteDocuments(database), RedisDocuments(client)),
        ("files of messages", MovableFiles(folder), MovableFiles(chunks)),
        ("deliveries", SqliteDeliveries(database, clock), RedisDeliveries(client, clock, former_names(client))),
        ("runs", MovableRuns(SqliteRunRecords(database)), MovableRuns(RedisRunRecords(client, home))),
    ]
    return [Move(what, there, here) if to == SQLITE else Move(what, here, there) for what, here, there in kinds]


def _report(on_progress: OnProgress, what: str, total: int, moved: int) -> None:
    on_progress(what, moved, max(moved, total))


async def _move_decisions(source: BotStores, target: BotStores, *, own: bool) -> int:
    """Copy the bot's records; of two decisions about a chat, the later one holds. Return the number of decisions.

    With `own`, only this host uses the target: chats that the source does not have are deleted there.
    """
    records = {record.chat_id: record for record in await source.access.records()}
    for known in await target.access.records():
        here = records.get(known.chat_id)
        if (here is None and own) or (here is not None and here.changed_at > known.changed_at):
            await target.access.forget(known.chat_id)
    await copy_bot_records(source, target)
    return len(records)
