"""Methods of stores are written for a connection and called without it."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes


class NoteStore:
    """Notes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @writes
    def add(self, connection: sqlite3.Connection, *notes: str, refuse: str = "") -> int:
        """Add notes."""
        for note in notes:
            if note == refuse:
                raise ValueError(note)
            connection.execute("INSERT INTO notes VALUES (?)", [note])
        return len(notes)

    @reads
    def all(self, connection: sqlite3.Connection, *, changing: bool = False) -> list[str]:
        """Return all notes."""
        if changing:
            connection.execute("DELETE FROM notes")
        return [text for (text,) in connection.execute("SELECT text FROM notes")]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[NoteStore]:
    database = Database(tmp_path / "test.db", {"notes": ("CREATE TABLE notes (text TEXT);",)})
    yield NoteStore(database)
    await database.aclose()


async def test_a_call_needs_no_connection(store: NoteStore):
    assert await store.add("one", "two") == 2
    assert await store.all() == ["one", "two"]


async def test_an_error_undoes_the_whole_call(store: NoteStore):
    with pytest.raises(ValueError, match="two"):
        await store.add("one", "two", refuse="two")
    assert await store.all() == []


async def test_a_reading_method_cannot_change_anything(store: NoteStore):
    await store.add("one")
    with pytest.raises(Exception, match="readonly"):
        await store.all(changing=True)
