"""Small texts that channels keep, by the kind of the channel, each changed as a whole; for Redis: `redis_document`."""

import sqlite3
from collections.abc import Callable
from typing import Protocol

from tocsin.core.storage.database import Database

# A released migration is never edited; a new one is added.
MIGRATIONS = ("CREATE TABLE documents (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;",)


class ChannelDocument(Protocol):
    """One text; empty until it is first changed. The methods raise StoreUnavailableError or DatabaseError."""

    async def read(self) -> str:
        """Return the text."""

    async def change(self, edit: Callable[[str], str]) -> str:
        """Replace the text by what `edit` returns for it, and return that.

        No other change comes in between; `edit` may be called again, and what it raises is raised here.
        """


class SqliteDocument:
    """A row of the table `documents`."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name

    async def read(self) -> str:
        return await self._database.read(self._find)

    async def change(self, edit: Callable[[str], str]) -> str:
        def work(connection: sqlite3.Connection) -> str:
            before = self._find(connection)
            if (after := edit(before)) != before:
                connection.execute("INSERT OR REPLACE INTO documents VALUES (?, ?)", [self._name, after])
            return after

        return await self._database.write(work)

    def _find(self, connection: sqlite3.Connection) -> str:
        row = connection.execute("SELECT text FROM documents WHERE name = ?", [self._name]).fetchone()
        return str(row["text"]) if row else ""
