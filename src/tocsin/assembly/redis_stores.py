"""All stores that are in Redis with STORE=redis."""

from functools import cache, partial
from typing import TYPE_CHECKING

from tocsin.assembly.stores import DATABASE_FILE, Stores, lazy_buckets
from tocsin.core.config.data_dir import directory_id, shared_name
from tocsin.core.config.settings import Settings
from tocsin.core.lazy import Lazy
from tocsin.core.process.beats import RedisBeats
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.redis_document import RedisDocument
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.storage.redis_identity import FILE_NAME, RedisIdentity
from tocsin.core.storage.shared_limits import SharedBuckets, SharedLimiter
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import Limiter, RateLimiter
from tocsin.delivery.redis.store import RedisStore
from tocsin.messaging.outbound.redis_idempotency import RedisKeys
from tocsin.status.shared_notices import SharedNotices

if TYPE_CHECKING:
    from tocsin.assembly.full.redis_receiving import RedisReceiving
    from tocsin.runs.store import RunStore


def open_redis_stores(settings: Settings, database: Database, redis: Lazy[RedisClient], clock: Clock) -> Stores:
    """Return the stores; `database` has everything that hosts do not share."""
    buckets, client = lazy_buckets(redis, clock), redis()
    receiving = cache(lambda: _receiving(settings, client, clock))
    return Stores(
        queue=RedisStore(client, clock, identity=RedisIdentity(client, settings.data_dir / FILE_NAME)),
        keys=RedisKeys(client),
        inbox=lambda: receiving().inbox,
        bot=lambda: receiving().bot,
        notices=lambda: SharedNotices(client),
        limiter=partial(_shared_limiter, buckets, clock),
        loop_guard=lambda limit: receiving().loop_guard(limit),
        buckets=buckets,
        beats=lambda: RedisBeats(client),
        runs=cache(lambda: _open_runs(settings, client)),
        document=partial(RedisDocument, client),
        database=database,
        redis=redis,
    )


def _shared_limiter(buckets: Lazy[SharedBuckets], clock: Clock, name: str, per_minute: int) -> Limiter:
    return SharedLimiter(name, RateLimiter(per_minute, clock.monotonic), buckets())


def _receiving(settings: Settings, client: RedisClient, clock: Clock) -> "RedisReceiving":
    from tocsin.assembly.full.redis_receiving import RedisReceiving

    directory = settings.data_dir
    return RedisReceiving(client, directory / DATABASE_FILE, directory_id(directory), clock)


def _open_runs(settings: Settings, client: RedisClient) -> "RunStore":
    from tocsin.runs.redis.records import redis_runs

    return redis_runs(client, shared_name(settings.data_dir))
