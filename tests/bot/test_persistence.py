"""What the bot keeps survives a restart, and an upgrade."""

from pathlib import Path

from tocsin.bot.persistence import BotPersistence
from tocsin.bot.schema import SCHEMAS
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.core.storage.database import Database
from tocsin.testing import FakeClock


async def test_a_preview_of_a_version_with_numeric_message_ids_is_found_after_the_upgrade(tmp_path: Path):
    path = tmp_path / "tocsin.db"
    before = Database(path, {"bot": SCHEMAS["bot"][:1]})
    await before.write(
        lambda c: c.execute("INSERT INTO previews VALUES ('event', 501, ?)", [FakeClock().now()]).rowcount
    )
    await before.aclose()
    after = Database(path, SCHEMAS)
    assert await BotPersistence(sqlite_tables(after, FakeClock())).preview("event") == "501"
    await after.aclose()


async def test_a_message_id_that_looks_like_a_decimal_number_is_kept_as_it_is(tmp_path: Path):
    database = Database(tmp_path / "tocsin.db", SCHEMAS)
    persistence = BotPersistence(sqlite_tables(database, FakeClock()))
    await persistence.keep_preview("event", "1700000000.100000")
    assert await persistence.preview("event") == "1700000000.100000"
    await database.aclose()
