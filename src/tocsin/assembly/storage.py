"""Where things are kept: all stores that the setting STORE decides about, the database, and Redis.

A store that a command may not need is made when it is first asked for.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import REDIS_URL, REDIS_WAIT_REPLICAS, STORE
from tocsin.core.errors import MissingSettingError, TocsinError
from tocsin.core.storage import changes
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.core.time.ratelimit import RateLimiter

if TYPE_CHECKING:
    import sqlite3

    from tocsin.bot.storage.stores import BotStores
    from tocsin.core.lazy import Lazy
    from tocsin.core.process.beats import Beats
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.core.storage.shared_limits import SharedBuckets
    from tocsin.core.time.ratelimit import Limiter, MakeLimiter
    from tocsin.delivery.store import DeliveryStore
    from tocsin.features.contract import Feature
    from tocsin.messaging.inbound.loop_guard import LoopGuard, OwnLoopGuard
    from tocsin.messaging.inbound.store import InboxStore
    from tocsin.messaging.outbound.idempotency import IdempotencyKeys
    from tocsin.runs.store import RunStore
    from tocsin.status.shared_notices import SharedNotices

DATABASE_FILE = "tocsin.db"
GIVEN_BACK_PAGES, GIVEN_BACK_PIECES = 500, 20  # of 4 KiB in one transaction, and transactions at a time
PROBE_S = 1.0
LEFT_FIX = "stop all services and run `tocsin store migrate --to redis`"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Stores:
    """What messages pass through, where STORE says; the database of everything else; and Redis."""

    queue: "DeliveryStore"
    keys: "IdempotencyKeys"
    inbox: "Callable[[], InboxStore]"
    bot: "Callable[[], BotStores]"
    notices: "Callable[[], SharedNotices | None]"  # what hosts without a database have to tell
    limiter: "MakeLimiter"
    loop_guard: "Callable[[int], LoopGuard]"  # gets the replies per minute and chat
    buckets: "Lazy[SharedBuckets]"  # of limits that hosts share
    beats: "Callable[[], Beats]"  # signs of life of those that share the inbox
    runs: "Callable[[], RunStore]"
    database: "Database"
    redis: "Lazy[RedisClient]"


def open_stores(
    settings: Settings, features: "Iterable[Feature]", stack: AsyncExitStack, clock: Clock | None = None
) -> Stores:
    """Open all stores where the settings keep them; have them closed with the program."""
    from tocsin.core.storage.database import Database

    clock = clock or SystemClock()
    # A host that only carries messages has nothing to keep there.
    carries = settings[STORE] == "redis"
    path = settings.data_dir / DATABASE_FILE
    database = Database(path, lambda: schemas(features), only_writes_make_it=carries)
    stack.push_async_callback(database.aclose)
    redis = lazy_redis(settings)
    stack.push_async_callback(redis.aclose)
    stores = stores_in(settings, database, redis, clock)
    stack.push_async_callback(stores.buckets.aclose)
    return stores


def stores_in(settings: Settings, database: "Database", redis: "Lazy[RedisClient]", clock: Clock) -> Stores:
    """Return all stores in the one of `database` and `redis` that the settings name; raises ConfigError."""
    if settings[STORE] != "redis":
        return _in_sqlite(database, redis, clock)
    if not settings[REDIS_URL]:
        raise MissingSettingError("STORE=redis requires Redis, but REDIS_URL=off disables it", hint="set REDIS_URL")
    return _in_redis(settings, database, redis, clock)


def _in_sqlite(database: "Database", redis: "Lazy[RedisClient]", clock: Clock) -> Stores:
    from tocsin.delivery.sqlite.store import SqliteStore
    from tocsin.messaging.outbound.idempotency import SqliteKeys

    return Stores(
        queue=SqliteStore(database, clock),
        keys=SqliteKeys(database, clock),
        inbox=cache(lambda: _sqlite_inbox(database, clock)),
        bot=cache(lambda: _sqlite_bot(database, clock)),
        notices=lambda: None,
        limiter=partial(_own_limiter, clock),
        loop_guard=partial(_own_loop_guard, clock),
        buckets=_buckets(redis, clock),
        beats=lambda: sqlite_beats(database),
        runs=cache(lambda: _sqlite_runs(database)),
        database=database,
        redis=redis,
    )


def _in_redis(settings: Settings, database: "Database", redis: "Lazy[RedisClient]", clock: Clock) -> Stores:
    from tocsin.core.storage.redis_identity import FILE_NAME, RedisIdentity
    from tocsin.delivery.redis.store import RedisStore
    from tocsin.messaging.outbound.redis_idempotency import RedisKeys

    buckets = _buckets(redis, clock)
    return Stores(
        queue=RedisStore(redis(), clock, identity=RedisIdentity(redis(), settings.data_dir / FILE_NAME)),
        keys=RedisKeys(redis()),
        bot=cache(lambda: _redis_bot(settings, redis, clock)),
        notices=lambda: _shared_notices(redis()),
        limiter=partial(_shared_limiter, buckets, clock),
        loop_guard=partial(_shared_loop_guard, redis, clock),
        buckets=buckets,
        inbox=cache(lambda: _redis_inbox(redis(), clock)),
        beats=lambda: _redis_beats(redis()),
        runs=cache(lambda: _redis_runs(settings, redis())),
        database=database,
        redis=redis,
    )


def _buckets(redis: "Lazy[RedisClient]", clock: Clock) -> "Lazy[SharedBuckets]":
    from tocsin.core.lazy import Lazy

    def make() -> "SharedBuckets":
        from tocsin.core.storage.shared_limits import SharedBuckets

        return SharedBuckets(redis(), clock)

    return Lazy(make, lambda buckets: buckets.aclose())


def _own_limiter(clock: Clock, name: str, per_minute: int) -> "Limiter":
    return RateLimiter(per_minute, clock.monotonic)


def _shared_limiter(buckets: "Lazy[SharedBuckets]", clock: Clock, name: str, per_minute: int) -> "Limiter":
    from tocsin.core.storage.shared_limits import SharedLimiter

    return SharedLimiter(name, RateLimiter(per_minute, clock.monotonic), buckets())


def _shared_notices(redis: "RedisClient") -> "SharedNotices":
    from tocsin.status.shared_notices import SharedNotices

    return SharedNotices(redis)


def _own_loop_guard(clock: Clock, limit: int) -> "OwnLoopGuard":
    from tocsin.messaging.inbound.loop_guard import OwnLoopGuard

    return OwnLoopGuard(limit, clock.monotonic)


def _shared_loop_guard(redis: "Lazy[RedisClient]", clock: Clock, limit: int) -> "LoopGuard":
    from tocsin.messaging.inbound.redis.shared_loop_guard import SharedLoopGuard

    return SharedLoopGuard(_own_loop_guard(clock, limit), redis(), clock)


def _sqlite_bot(database: "Database", clock: Clock) -> "BotStores":
    from tocsin.bot.storage.stores import sqlite_bot_stores

    return sqlite_bot_stores(database, clock)


def _redis_bot(settings: Settings, redis: "Lazy[RedisClient]", clock: Clock) -> "BotStores":
    from tocsin.bot.storage.stores import shared_bot_stores
    from tocsin.core.config.data_dir import directory_id

    directory = settings.data_dir
    return shared_bot_stores(redis(), directory / DATABASE_FILE, directory_id(directory), clock)


def _sqlite_inbox(database: "Database", clock: Clock) -> "InboxStore":
    from tocsin.messaging.inbound.sqlite_store import SqliteInbox

    return SqliteInbox(database, clock)


def _redis_inbox(client: "RedisClient", clock: Clock) -> "InboxStore":
    from tocsin.messaging.inbound.redis.store import RedisInbox

    return RedisInbox(client, clock)


def _sqlite_runs(database: "Database") -> "RunStore":
    from tocsin.runs.sqlite.records import sqlite_runs

    return sqlite_runs(database)


def _redis_runs(settings: Settings, client: "RedisClient") -> "RunStore":
    from tocsin.core.config.data_dir import shared_name
    from tocsin.runs.redis.records import redis_runs

    return redis_runs(client, shared_name(settings.data_dir))


async def left_in_database(database: "Database") -> str:
    """Return a sentence about messages that were open in the database when Redis became the store, or an empty one."""
    from tocsin.messaging.inbound.sqlite_store import SqliteInbox

    left = sum((await SqliteInbox(database, SystemClock()).owners()).values())
    return f"{database.path} contains unprocessed received messages, but STORE is redis: {left}" if left else ""


def sqlite_beats(database: "Database") -> "Beats":
    """Return the signs of life of those that share the data directory: runs belong to it."""
    from tocsin.core.process.beats import SqliteBeats

    return SqliteBeats(database)


def _redis_beats(client: "RedisClient") -> "Beats":
    from tocsin.core.process.beats import RedisBeats

    return RedisBeats(client)


def lazy_redis(settings: Settings) -> "Lazy[RedisClient]":
    """Return the one client of the Redis that the settings name."""
    from tocsin.core.lazy import Lazy

    def make() -> "RedisClient":
        from tocsin.core.storage.redis_client import open_redis

        return open_redis(settings[REDIS_URL], wait_replicas=settings[REDIS_WAIT_REPLICAS])

    return Lazy(make, lambda client: client.aclose())


async def is_redis_there(settings: Settings) -> bool:
    """Whether a Redis was named in the settings, or listens at the usual address."""
    url = settings[REDIS_URL]
    if not url or REDIS_URL.name in settings.sources or settings[STORE] == "redis":
        return bool(url)
    from tocsin.core.storage.redis_client import listens

    return await listens(url)


async def redis_trouble(settings: Settings, redis: "Lazy[RedisClient]") -> str | None:
    """Ask the Redis that is used, and return why it does not answer, or an empty text; None where none is used."""
    import asyncio

    if not await is_redis_there(settings):
        return None
    try:
        client = redis()
        async with asyncio.timeout(PROBE_S):
            await client.command("PING")
    except TimeoutError:
        return f"Redis at {client.where} did not respond within {PROBE_S:g} s: check the server"
    except TocsinError as error:
        return error.sentence()
    return ""


def schemas(features: "Iterable[Feature]") -> dict[str, Sequence[str]]:
    """Return the tables of every component; these modules hold nothing but text, because every send reads them."""
    from tocsin.bot import schema as bot_schema
    from tocsin.core.process import beats
    from tocsin.delivery.sqlite import schema as sqlite_schema
    from tocsin.messaging.inbound import schema as inbox_schema
    from tocsin.messaging.outbound import idempotency
    from tocsin.runs.sqlite import schema as runs_schema
    from tocsin.scheduling import schema as scheduling_schema
    from tocsin.web.access import schema as access_schema

    return {
        "changes": changes.MIGRATIONS,  # the first: triggers of the others write to its table
        "delivery": sqlite_schema.MIGRATIONS,
        "idempotency": idempotency.MIGRATIONS,
        "inbox": inbox_schema.MIGRATIONS,
        "presence": beats.MIGRATIONS,
        "runs": runs_schema.MIGRATIONS,
        "scheduling": scheduling_schema.MIGRATIONS,
        "web_access": access_schema.MIGRATIONS,
        **bot_schema.SCHEMAS,
        **{component: scripts for feature in features for component, scripts in feature.tables.items()},
    }


async def give_back(database: "Database") -> None:
    """Give the disk back what deleting has freed in the file, in small transactions.

    A tenth of the file stays free for what comes. A file that was made by an older version keeps all of it, until
    an operator runs `PRAGMA auto_vacuum=INCREMENTAL; VACUUM`.
    """

    def work(connection: "sqlite3.Connection") -> bool:
        mode, pages, free = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("auto_vacuum", "page_count", "freelist_count")
        )
        spare = min(free - pages // 10, GIVEN_BACK_PAGES)
        if mode == 0 or spare <= 0:
            return False
        for _ in range(spare):  # each call frees one page: Python's module asks SQLite for the first result alone
            connection.execute("PRAGMA incremental_vacuum(1)")
        return True

    for _ in range(GIVEN_BACK_PIECES):
        if not await database.write(work):
            return
