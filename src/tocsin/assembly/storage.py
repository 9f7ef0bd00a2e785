"""The stores of the program, in SQLite or Redis as STORE says.

A store that only some commands need is created at its first use.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from functools import cache, partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tocsin.assembly.stores import DATABASE_FILE, Stores, lazy_buckets, lazy_redis
from tocsin.bot import schema as bot_schema
from tocsin.core.config.core_variables import REDIS_URL, STORE
from tocsin.core.config.settings import Settings
from tocsin.core.errors import MissingSettingError, TocsinError
from tocsin.core.lazy import Lazy
from tocsin.core.process import beats
from tocsin.core.storage import changes
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents import document
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.core.time.ratelimit import Limiter, RateLimiter
from tocsin.delivery.sqlite import schema as sqlite_schema
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.messaging.inbound import schema as inbox_schema
from tocsin.messaging.outbound import idempotency
from tocsin.messaging.outbound.idempotency import SqliteKeys
from tocsin.runs.sqlite import schema as runs_schema
from tocsin.scheduling import lease
from tocsin.web.access import schema as access_schema

if TYPE_CHECKING:
    from tocsin.assembly.full.sqlite_receiving import SqliteReceiving
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.features.contract import Feature
    from tocsin.runs.store import RunStore

GIVEN_BACK_PAGES, GIVEN_BACK_PIECES = 500, 20  # of 4 KiB in one transaction, and transactions at a time
PROBE_S, LISTENS_S = 1.0, 0.5
LEFT_FIX = "stop all services and run `tocsin store migrate --to redis`"


def open_stores(
    settings: Settings, features: "Iterable[Feature]", stack: AsyncExitStack, clock: Clock | None = None
) -> Stores:
    """Return the stores that the settings select; `stack` closes them."""
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


def stores_in(settings: Settings, database: Database, redis: Lazy["RedisClient"], clock: Clock) -> Stores:
    """Return the stores in `database` or `redis`, as STORE says; raises ConfigError."""
    if settings[STORE] != "redis":
        return _in_sqlite(database, redis, clock)
    if not settings[REDIS_URL]:
        raise MissingSettingError("STORE=redis requires Redis, but REDIS_URL=off disables it", hint="set REDIS_URL")
    return _in_redis(settings, database, redis, clock)


def _in_sqlite(database: Database, redis: Lazy["RedisClient"], clock: Clock) -> Stores:
    receiving = cache(lambda: _receiving(database, clock))
    return Stores(
        queue=SqliteStore(database, clock),
        keys=SqliteKeys(database, clock),
        inbox=lambda: receiving().inbox,
        bot=lambda: receiving().bot,
        notices=lambda: None,
        limiter=partial(_own_limiter, clock),
        loop_guard=lambda limit: receiving().loop_guard(limit),
        buckets=lazy_buckets(redis, clock),
        beats=lambda: beats.SqliteBeats(database),
        runs=cache(lambda: _open_runs(database)),
        document=partial(document.SqliteDocument, database),
        database=database,
        redis=redis,
    )


def _receiving(database: Database, clock: Clock) -> "SqliteReceiving":
    from tocsin.assembly.full.sqlite_receiving import SqliteReceiving

    return SqliteReceiving(database, clock)


def _open_runs(database: Database) -> "RunStore":
    from tocsin.runs.sqlite.records import sqlite_runs

    return sqlite_runs(database)


def _in_redis(settings: Settings, database: Database, redis: Lazy["RedisClient"], clock: Clock) -> Stores:
    from tocsin.assembly.redis_stores import open_redis_stores

    return open_redis_stores(settings, database, redis, clock)


def _own_limiter(clock: Clock, name: str, per_minute: int) -> Limiter:
    return RateLimiter(per_minute, clock.monotonic)


async def is_redis_there(settings: Settings) -> bool:
    """Whether the settings name a Redis, or a server listens at the default address (a client would take 10 MB)."""
    url = settings[REDIS_URL]
    if not url or REDIS_URL.name in settings.sources or settings[STORE] == "redis":
        return bool(url)
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(LISTENS_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def redis_trouble(settings: Settings, redis: Lazy["RedisClient"]) -> str | None:
    """Return why Redis does not respond; empty if it does, None if it is not used."""
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
    """Return the schemas of all components; every send imports these modules, so they contain only text."""
    return {
        "changes": changes.MIGRATIONS,  # the first: triggers of the others write to its table
        "delivery": sqlite_schema.MIGRATIONS,
        "documents": document.MIGRATIONS,
        "idempotency": idempotency.MIGRATIONS,
        "inbox": inbox_schema.MIGRATIONS,
        "presence": beats.MIGRATIONS,
        "runs": runs_schema.MIGRATIONS,
        "scheduling": lease.MIGRATIONS,
        "web_access": access_schema.MIGRATIONS,
        **bot_schema.SCHEMAS,
        **{component: scripts for feature in features for component, scripts in feature.tables.items()},
    }


async def give_back(database: Database) -> None:
    """Return free pages of the database file to the file system, in small transactions.

    A tenth of the file stays free for new records. A file of an older version keeps its free pages until
    an operator runs `PRAGMA auto_vacuum=INCREMENTAL; VACUUM`.
    """

    def work(connection: sqlite3.Connection) -> bool:
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
