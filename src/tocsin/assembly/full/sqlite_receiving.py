"""The receiving stores in the database."""

from functools import cached_property

from tocsin.bot.storage.stores import BotStores, sqlite_bot_stores
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.messaging.inbound.loop_guard import OwnLoopGuard
from tocsin.messaging.inbound.sqlite_store import SqliteInbox


class SqliteReceiving:
    """The inbox, the bot's records and the loop guard of one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @cached_property
    def inbox(self) -> SqliteInbox:
        """The received messages."""
        return SqliteInbox(self._database, self._clock)

    @cached_property
    def bot(self) -> BotStores:
        """The records of the bot."""
        return sqlite_bot_stores(self._database, self._clock)

    def loop_guard(self, limit: int) -> OwnLoopGuard:
        """Return a guard that allows `limit` replies per minute and chat."""
        return OwnLoopGuard(limit, self._clock.monotonic)


async def left_in_database(database: Database) -> str:
    """Return a sentence about unprocessed messages in the database; empty if there are none."""
    left = sum((await SqliteInbox(database, SystemClock()).owners()).values())
    return f"{database.path} contains unprocessed received messages, but STORE is redis: {left}" if left else ""
