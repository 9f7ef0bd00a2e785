"""The stores of all bot records, in the database or in Redis, and the copy from one to the other."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.bot.door.access_store import AccessStore
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.schema import SCHEMAS
from tocsin.bot.shared_work import ChatWork
from tocsin.bot.skill_mode.plans import Plans
from tocsin.bot.storage.keyed_table import OpenTable
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.core.storage.database import Database

if TYPE_CHECKING:
    from tocsin.bot.storage.redis_calls import RedisCalls
    from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)


class BotStores(NamedTuple):
    """The stores of the bot's records."""

    access: AccessStore
    persistence: BotPersistence
    plans: Plans
    work: ChatWork


def sqlite_bot_stores(database: Database, clock: "Clock") -> BotStores:
    """Return the stores in a database opened with the schemas of `bot/schema.py`."""
    return _stores_in(sqlite_tables(database, clock))


def redis_bot_stores(client: "RedisCalls", *, prefix: str = "tocsin") -> BotStores:
    """Return the stores in Redis, shared by all hosts."""
    from tocsin.bot.storage.redis_table import redis_tables

    return _stores_in(redis_tables(client, prefix))


def _stores_in(tables: OpenTable) -> BotStores:
    return BotStores(AccessStore(tables), BotPersistence(tables), Plans(tables), ChatWork(tables))


def shared_bot_stores(
    client: "RedisCalls", database_file: Path, origin: str, clock: "Clock", *, prefix: str = "tocsin"
) -> BotStores:
    """Return the stores in Redis, which first copy the records of a database that has any.

    Access decisions were stored there before they were shared. `origin` identifies the data directory: each is copied
    once, so that records deleted later do not reappear.
    """
    from tocsin.bot.storage.redis_calls import CallsAfter

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


async def _copy_from(database_file: Path, clock: "Clock", to: BotStores) -> int:
    database = Database(database_file, SCHEMAS)
    try:
        return await copy_bot_records(sqlite_bot_stores(database, clock), to)
    finally:
        await database.aclose()


async def copy_bot_records(source: BotStores, to: BotStores) -> int:
    """Copy every record that `to` does not have; return the number of records read. Idempotent."""
    records, moves = await source.access.records(), await source.access.moves()
    for record in records:
        await to.access.restore(record)
    for old_id, new_id in moves:
        await to.access.record_move(old_id, new_id)
    modes, known_modes = await source.persistence.modes(), await to.persistence.modes()
    for chat_id in modes.keys() - known_modes.keys():
        await to.persistence.set_mode(chat_id, modes[chat_id])
    previews, known_previews = await source.persistence.previews(), await to.persistence.previews()
    for received_id in previews.keys() - known_previews.keys():
        await to.persistence.keep_preview(received_id, previews[received_id])
    plans = await source.plans.stored()
    for plan, taker in plans:
        await to.plans.restore(plan, taker)
    return len(records) + len(moves) + len(modes) + len(previews) + len(plans)
