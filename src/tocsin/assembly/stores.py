"""The stores of a program."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tocsin.core.config.core_variables import REDIS_URL, REDIS_WAIT_REPLICAS
from tocsin.core.config.settings import Settings
from tocsin.core.lazy import Lazy
from tocsin.core.process.beats import Beats
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.document import ChannelDocument
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import MakeLimiter
from tocsin.delivery.store import DeliveryStore
from tocsin.messaging.outbound.idempotency import IdempotencyKeys

if TYPE_CHECKING:
    from tocsin.bot.storage.stores import BotStores
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.core.storage.shared_limits import SharedBuckets
    from tocsin.messaging.inbound.loop_guard import LoopGuard
    from tocsin.messaging.inbound.store import InboxStore
    from tocsin.runs.store import RunStore
    from tocsin.status.shared_notices import SharedNotices

DATABASE_FILE = "tocsin.db"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Stores:
    """The stores that STORE selects, the database for all other records, and Redis."""

    queue: DeliveryStore
    keys: IdempotencyKeys
    inbox: "Callable[[], InboxStore]"
    bot: "Callable[[], BotStores]"
    notices: "Callable[[], SharedNotices | None]"  # what hosts without a database have to tell
    limiter: MakeLimiter
    loop_guard: "Callable[[int], LoopGuard]"  # gets the replies per minute and chat
    buckets: Lazy["SharedBuckets"]  # of limits that hosts share
    beats: Callable[[], Beats]  # signs of life of those that share the inbox
    runs: "Callable[[], RunStore]"
    document: Callable[[str], ChannelDocument]  # what a channel keeps, by its kind
    database: Database
    redis: Lazy["RedisClient"]


def lazy_buckets(redis: Lazy["RedisClient"], clock: Clock) -> Lazy["SharedBuckets"]:
    """Return the shared counters of rate limits."""

    def make() -> "SharedBuckets":
        from tocsin.core.storage.shared_limits import SharedBuckets

        return SharedBuckets(redis(), clock)

    return Lazy(make, lambda buckets: buckets.aclose())


def lazy_redis(settings: Settings) -> Lazy["RedisClient"]:
    def make() -> "RedisClient":
        from tocsin.core.storage.redis_client import open_redis

        return open_redis(settings[REDIS_URL], wait_replicas=settings[REDIS_WAIT_REPLICAS])

    return Lazy(make, lambda client: client.aclose())
