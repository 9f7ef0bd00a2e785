"""Move open events, dedupe keys and cursors into and out of the inbox in SQLite."""

import sqlite3
from collections.abc import Sequence

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.moving import MovedCursor, MovedDedupeKey, MovedEvent

_EVENT = ", ".join(MovedEvent._fields)


class SqliteEvents:
    """The events that are not handled yet."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self) -> int:
        return await _count(self._database, "SELECT count(*) FROM inbox WHERE finished_at IS NULL")

    async def oldest(self, limit: int) -> list[MovedEvent]:
        sql = f"SELECT {_EVENT} FROM inbox WHERE finished_at IS NULL ORDER BY seq LIMIT ?"  # noqa: S608  # our columns
        return [MovedEvent(*row) for row in await _rows(self._database, sql, limit)]

    async def take_in(self, records: Sequence[MovedEvent]) -> None:
        marks = ", ".join("?" * len(MovedEvent._fields))
        sql = f"INSERT OR IGNORE INTO inbox ({_EVENT}, owner) VALUES ({marks}, '')"  # noqa: S608  # our columns  # names of our own
        await self._database.execute_many(sql, records)

    async def remove(self, records: Sequence[MovedEvent]) -> None:
        await self._database.execute_many("DELETE FROM inbox WHERE id = ?", [[one.id] for one in records])


class SqliteDedupeKeys:
    """The dedupe keys, by which repeated events are recognised."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def count(self) -> int:
        return await _count(self._database, "SELECT count(*) FROM inbox_keys")

    async def oldest(self, limit: int) -> list[MovedDedupeKey]:
        sql, now = "SELECT channel, key, claimed_at FROM inbox_keys ORDER BY channel, number LIMIT ?", self._clock.now()
        rows = await _rows(self._database, sql, limit)
        return [MovedDedupeKey(row["channel"], row["key"], max(0.0, now - row["claimed_at"])) for row in rows]

    async def take_in(self, records: Sequence[MovedDedupeKey]) -> None:
        now = self._clock.now()
        sql = (
            "INSERT OR IGNORE INTO inbox_keys SELECT :channel, :key, coalesce(max(number), 0) + 1, :at FROM inbox_keys"
            " WHERE channel = :channel"
        )
        rows = [{"channel": one.channel, "key": one.key, "at": now - one.age_s} for one in records]
        await self._database.execute_many(sql, rows)

    async def remove(self, records: Sequence[MovedDedupeKey]) -> None:
        sql = "DELETE FROM inbox_keys WHERE channel = ? AND key = ?"
        await self._database.execute_many(sql, [[one.channel, one.key] for one in records])


class SqliteCursors:
    """The positions at which polling continues."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self) -> int:
        return await _count(self._database, "SELECT count(*) FROM inbox_cursors")

    async def oldest(self, limit: int) -> list[MovedCursor]:
        rows = await _rows(self._database, "SELECT name, position FROM inbox_cursors ORDER BY name LIMIT ?", limit)
        return [MovedCursor(*row) for row in rows]

    async def take_in(self, records: Sequence[MovedCursor]) -> None:
        sql = "INSERT INTO inbox_cursors VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET position = excluded.position"
        await self._database.execute_many(sql, records)

    async def remove(self, records: Sequence[MovedCursor]) -> None:
        await self._database.execute_many("DELETE FROM inbox_cursors WHERE name = ?", [[one.name] for one in records])


async def _count(database: Database, sql: str) -> int:
    return int(await database.read(lambda connection: connection.execute(sql).fetchone()[0]))


async def _rows(database: Database, sql: str, limit: int) -> list[sqlite3.Row]:
    return await database.read(lambda connection: connection.execute(sql, [limit]).fetchall())
