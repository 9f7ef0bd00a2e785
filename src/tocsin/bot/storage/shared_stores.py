"""The stores of all bot records in Redis, which first copy those of a database."""

import logging
from pathlib import Path

from tocsin.bot.schema import SCHEMAS
from tocsin.bot.storage.redis_calls import CallsAfter, RedisCalls
from tocsin.bot.storage.redis_table import redis_tables
from tocsin.bot.storage.stores import BotStores, copy_bot_records, sqlite_bot_stores, stores_in
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)


def redis_bot_stores(client: RedisCalls, *, prefix: str = "tocsin") -> BotStores:
    """Return the stores in Redis, shared by all hosts."""
    return stores_in(redis_tables(client, prefix))


def shared_bot_stores(
    client: RedisCalls, database_file: Path, origin: str, clock: Clock, *, prefix: str = "tocsin"
) -> BotStores:
    """Return the stores in Redis, which first copy the records of a database that has any.

    Access decisions were stored there before they were shared. `origin` identifies the data directory: each is copied
    once, so that records deleted later do not reappear.
    """
    if not database_file.exists():
        return redis_bot_stores(client, prefix=prefix)
    taken_over = f"{{{prefix}:bot}}:taken-over"

    async def take_over() -> None:
        if await client.command("SISMEMBER", taken_over, origin):
            return
        count = await _copy_from(database_file, clock, redis_bot_stores(client, prefix=prefix))
        await client.command("SADD", taken_over, origin)
        log.info("the bot's records were moved from this data directory to Redis", extra={"records": count})

    return redis_bot_stores(CallsAfter(client, take_over), prefix=prefix)


async def _copy_from(database_file: Path, clock: Clock, to: BotStores) -> int:
    database = Database(database_file, SCHEMAS)
    try:
        return await copy_bot_records(sqlite_bot_stores(database, clock), to)
    finally:
        await database.aclose()
