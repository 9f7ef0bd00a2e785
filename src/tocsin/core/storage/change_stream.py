"""Streams of what changed in a store of messages, by any process on any host: each entry names a record.

Stores write an entry in the step that makes the change, and keep the latest only. Positions are opaque text.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient

# Entries that are kept, about; who reads ten times a second misses none below 50,000 changes a second.
KEPT = 5_000


@dataclass(frozen=True, slots=True)
class StreamPage:
    """The records that changed after a position, each once, and the position behind them.

    Where `complete` is false, there are more, or some are no longer kept.
    """

    subjects: Sequence[str]
    end: str
    complete: bool


class ChangeStream(Protocol):
    """What changed in one store, in the order in which it changed."""

    async def end(self) -> str:
        """Return the position behind the last change."""
        ...

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        """Return what changed after a position, for up to `at_most` changes."""
        ...


class RedisChangeStream:
    """The entries that scripts add to a stream with `XADD … MAXLEN`, each with the field `id`."""

    def __init__(self, client: "RedisClient", key: str) -> None:
        self._client = client
        self._key = key

    async def end(self) -> str:
        last = await self._entries("XREVRANGE", "+", "-", 1)
        return last[0][0] if last else "0-0"

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        # With the entry at the position itself, which is there as long as nothing after it was dropped.
        found = await self._entries("XRANGE", position, "+", at_most + 2)
        known = bool(found) and found[0][0] == position
        changed = found[1:] if known else found
        if not known and position != "0-0":  # dropped, or of another Redis
            return StreamPage((), await self.end(), complete=False)
        if len(changed) > at_most:
            return StreamPage((), await self.end(), complete=False)
        subjects = tuple(dict.fromkeys(subject for _, subject in changed))
        return StreamPage(subjects, changed[-1][0] if changed else position, complete=True)

    async def _entries(self, command: str, first: str, last: str, count: int) -> list[tuple[str, str]]:
        rows = await self._client.command(command, self._key, first, last, "COUNT", count)
        return [(bytes(at).decode(), bytes(value).decode()) for at, (_, value) in rows]


class SqliteChangeStream:
    """The rows of a table that `noted` of `changes.py` creates."""

    def __init__(self, database: "Database", table: str) -> None:
        self._database = database
        self._table = table

    async def end(self) -> str:
        return str(await self._database.read(self._end))

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        seq = int(position)

        def work(connection: sqlite3.Connection) -> StreamPage:
            sql = f"SELECT seq, subject FROM {self._table} WHERE seq >= ? ORDER BY seq LIMIT ?"  # noqa: S608  # our name
            found = connection.execute(sql, [seq, at_most + 2]).fetchall()
            changed = [row for row in found if row["seq"] > seq]
            # The row of the position itself is there as long as none after it was dropped.
            is_known = not seq or len(changed) < len(found)
            if len(changed) > at_most or not is_known:
                return StreamPage((), str(self._end(connection)), complete=False)
            subjects = tuple(dict.fromkeys(row["subject"] for row in changed))
            return StreamPage(subjects, str(changed[-1]["seq"] if changed else seq), complete=True)

        return await self._database.read(work)

    def _end(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [self._table]).fetchone()
        return int(row[0]) if row else 0
