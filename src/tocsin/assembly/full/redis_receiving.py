"""The receiving stores in Redis."""

from functools import cached_property
from pathlib import Path

from tocsin.bot.storage.shared_stores import shared_bot_stores
from tocsin.bot.storage.stores import BotStores
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.loop_guard import OwnLoopGuard
from tocsin.messaging.inbound.redis.shared_loop_guard import SharedLoopGuard
from tocsin.messaging.inbound.redis.store import RedisInbox


class RedisReceiving:
    """The inbox, the bot's records and the loop guard that hosts share."""

    def __init__(self, client: RedisClient, database_file: Path, origin: str, clock: Clock) -> None:
        """Records of the bot in `database_file` move to Redis; `origin` names its directory."""
        self._client = client
        self._database_file = database_file
        self._origin = origin
        self._clock = clock

    @cached_property
    def inbox(self) -> RedisInbox:
        """The received messages."""
        return RedisInbox(self._client, self._clock)

    @cached_property
    def bot(self) -> BotStores:
        """The records of the bot."""
        return shared_bot_stores(self._client, self._database_file, self._origin, self._clock)

    def loop_guard(self, limit: int) -> SharedLoopGuard:
        """Return a guard that allows `limit` replies per minute and chat."""
        return SharedLoopGuard(OwnLoopGuard(limit, self._clock.monotonic), self._client, self._clock)
