"""Key-value tables in the database of this host, shared by all processes of the data directory."""

import sqlite3
from collections.abc import Mapping
from functools import partial

from tocsin.bot.storage.keyed_table import OpenTable, TableChange, Update
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

_NEVER_S = 1e12


class SqliteKeyedTable:
    """A table of `bot/schema.py` with the columns `key`, `value` and `at`."""

    def __init__(self, database: Database, clock: Clock, name: str, kept_s: float) -> None:
        self._database = database
        self._clock = clock
        self._name = f"bot_{name.replace('-', '_')}"
        self._kept_s = kept_s or _NEVER_S

    async def get(self, key: str) -> str | None:
        oldest = self._clock.now() - self._kept_s
        return await self._database.read(lambda connection: self._get(connection, key, oldest))

    async def all(self) -> Mapping[str, str]:
        sql, oldest = f"SELECT key, value FROM {self._name} WHERE at >= ?", self._clock.now() - self._kept_s  # noqa: S608  # ours
        return await self._database.read(lambda c: {row["key"]: row["value"] for row in c.execute(sql, [oldest])})

    async def change(self, key: str, update: Update) -> TableChange:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> TableChange:
            if self._kept_s != _NEVER_S:
                connection.execute(f"DELETE FROM {self._name} WHERE at < ?", [now - self._kept_s])  # noqa: S608  # ours
            before = self._get(connection, key, now - self._kept_s)
            after = update(before, now)
            if after is None:
                connection.execute(f"DELETE FROM {self._name} WHERE key = ?", [key])  # noqa: S608  # ours
            elif after != before:
                connection.execute(f"INSERT OR REPLACE INTO {self._name} VALUES (?, ?, ?)", [key, after, now])  # noqa: S608  # ours
            return TableChange(before, after)

        return await self._database.write(work)

    def _get(self, connection: sqlite3.Connection, key: str, oldest: float) -> str | None:
        sql = f"SELECT value FROM {self._name} WHERE key = ? AND at >= ?"  # noqa: S608  # ours
        row = connection.execute(sql, [key, oldest]).fetchone()
        return str(row["value"]) if row else None


def sqlite_tables(database: Database, clock: Clock) -> OpenTable:
    """Return the function that opens a table in a database opened with the schemas of `bot/schema.py`."""
    return partial(SqliteKeyedTable, database, clock)
