"""The stores of all bot records, in the database, and the copy from one place to another."""

from typing import NamedTuple

from tocsin.bot.door.access_store import AccessStore
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.shared_work import ChatWork
from tocsin.bot.skill_mode.plans import Plans
from tocsin.bot.storage.keyed_table import OpenTable
from tocsin.bot.storage.presses import StoredPressClaims
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock


class BotStores(NamedTuple):
    """The stores of the bot's records."""

    access: AccessStore
    persistence: BotPersistence
    plans: Plans
    work: ChatWork
    presses: StoredPressClaims


def sqlite_bot_stores(database: Database, clock: Clock) -> BotStores:
    """Return the stores in a database opened with the schemas of `bot/schema.py`."""
    return stores_in(sqlite_tables(database, clock))


def stores_in(tables: OpenTable) -> BotStores:
    """Return the stores in the tables of either back end."""
    return BotStores(
        AccessStore(tables), BotPersistence(tables), Plans(tables), ChatWork(tables), StoredPressClaims(tables)
    )


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
    presses = await source.presses.stored()
    for delivery, claim in presses.items():
        await to.presses.claim(delivery, claim)
    return len(records) + len(moves) + len(modes) + len(previews) + len(plans) + len(presses)
