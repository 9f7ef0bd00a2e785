"""The feed of changes."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tocsin.core.storage.change_feed import ChangeFeed, RecordChange, note_change
from tocsin.core.storage.changes import KEEP_ROWS, MIGRATIONS, recorded, recorded_as_update
from tocsin.core.storage.database import Database

TABLES = """
    CREATE TABLE bells (name TEXT PRIMARY KEY, tone TEXT, rope TEXT) WITHOUT ROWID;
    CREATE TABLE peals (bell TEXT, hour INTEGER);
"""
TRIGGERS = recorded("bells", "tower", key="name", columns=("tone",)) + recorded_as_update("peals", "tower", key="bell")
SCHEMAS = {"changes": MIGRATIONS, "tower": (TABLES, TRIGGERS)}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(tmp_path / "tocsin.db", SCHEMAS)
    yield made
    await made.aclose()


async def execute(database: Database, sql: str, *values: object) -> None:
    await database.write(lambda connection: connection.execute(sql, values).fetchall())


async def changes(database: Database, after: int = 0, at_most: int = 100) -> list[tuple[int, str, str]]:
    page = await ChangeFeed(database).after(after, at_most=at_most)
    return [(change.seq, change.subject, change.kind) for change in page.changes]


async def test_each_committed_change_is_recorded_and_told_once_for_its_subject(database: Database):
    await execute(database, "INSERT INTO bells VALUES ('tenor', 'c', 'old')")
    await execute(database, "INSERT INTO bells VALUES ('treble', 'g', 'old')")
    await execute(database, "UPDATE bells SET tone = 'd' WHERE name = 'tenor'")
    assert await changes(database) == [(2, "treble", "created"), (3, "tenor", "created")]
    assert await changes(database, after=1) == [(2, "treble", "created"), (3, "tenor", "updated")]
    await execute(database, "DELETE FROM bells WHERE name = 'tenor'")
    assert await changes(database, after=3) == [(4, "tenor", "deleted")]
    assert await changes(database) == [(2, "treble", "created"), (4, "tenor", "deleted")]


async def test_what_was_undone_or_concerns_no_named_column_is_not_recorded(database: Database):
    await execute(database, "INSERT INTO bells VALUES ('tenor', 'c', 'old')")

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE bells SET tone = 'e'")
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(fail)
    await execute(database, "UPDATE bells SET rope = 'new'")
    assert await changes(database, after=1) == []


async def test_rows_that_belong_to_a_record_count_as_its_updates(database: Database):
    await execute(database, "INSERT INTO peals VALUES ('tenor', 1)")
    await execute(database, "UPDATE peals SET hour = 2")
    await execute(database, "DELETE FROM peals")
    assert await changes(database) == [(2, "tenor", "updated")]


async def test_another_process_sees_a_change_and_what_was_noted_by_hand(database: Database, tmp_path: Path):
    other = Database(tmp_path / "tocsin.db", SCHEMAS)
    await other.write(lambda connection: note_change(connection, "branches", "main"))
    page = await ChangeFeed(database).after(0, at_most=10)
    assert page.changes == [RecordChange(1, "branches", "main", "updated")]
    assert (page.end, page.complete, await ChangeFeed(database).end()) == (1, True, 1)
    await other.aclose()


async def test_a_page_says_when_it_lacks_changes(database: Database):
    feed = ChangeFeed(database)
    assert (await feed.after(0, at_most=2)).complete
    assert not (await feed.after(7, at_most=2)).complete  # a number of another database
    for name in "abc":
        await execute(database, "INSERT INTO bells VALUES (?, '', '')", name)
    page = await feed.after(0, at_most=2)
    assert ([change.subject for change in page.changes], page.end, page.complete) == (["b", "c"], 3, False)
    await execute(database, "DELETE FROM changes WHERE seq < 3")
    assert not (await feed.after(1, at_most=5)).complete
    assert (await feed.after(2, at_most=5)).complete


async def test_only_rows_that_are_both_old_and_many_are_deleted(database: Database):
    def fill(connection: sqlite3.Connection, count: int, topic: str = "tower") -> None:
        connection.executemany(
            "INSERT INTO changes (topic, subject, kind) VALUES (?, ?, 'updated')", [[topic, "x"]] * count
        )

    async def kept() -> tuple[int, int]:
        sql = "SELECT COUNT(*), MIN(seq) FROM changes"
        return tuple(await database.read(lambda connection: connection.execute(sql).fetchone()))

    await database.write(lambda connection: fill(connection, 2 * KEEP_ROWS))
    assert await kept() == (2 * KEEP_ROWS, 1)
    await execute(database, "UPDATE changes SET at = at - 3600")
    await database.write(lambda connection: fill(connection, 300))
    assert await kept() == (KEEP_ROWS, KEEP_ROWS + 301)
    assert await ChangeFeed(database).end() == 2 * KEEP_ROWS + 300


async def test_numbers_are_never_given_again(database: Database):
    await execute(database, "INSERT INTO bells VALUES ('tenor', 'c', '')")
    await execute(database, "DELETE FROM changes")
    await execute(database, "DELETE FROM bells")
    assert await changes(database) == [(2, "tenor", "deleted")]
