"""Streams of changes in a message store, by any process on any host: each entry names a record.

Stores write an entry in the step that makes the change, and keep only the latest entries. Positions are opaque text.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient

# The approximate number of entries kept: a reader that reads ten times per second misses none below 50,000 changes per
# second.
KEPT = 5_000


@dataclass(frozen=True, slots=True)
class StreamPage:
    """The records that changed after a position, each once, and the position after them.

    `complete` is false if there are more changes, or if some entries are already deleted.
    """

    subjects: Sequence[str]
    end: str
    complete: bool


class ChangeStream(Protocol):
    """The changes of a store, in order."""

    async def end(self) -> str:
        """Return the position after the last change."""

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        """Return the records that changed after a position, from at most `at_most` changes."""


class RedisChangeStream:
    """Reads the entries that scripts add to a stream with `XADD … MAXLEN`, each with the field `id`."""

    def __init__(self, client: "RedisClient", key: str) -> None:
        self._client = client
        self._key = key

    async def end(self) -> str:
        last = await self._entries("XREVRANGE", "+", "-", 1)
        return last[0][0] if last else "0-0"

    async def after(self, position: str, *, at_most: int) -> StreamPage:
        # Including the entry at the position itself, which exists as long as no entry after it was deleted.
        found = await self._entries("XRANGE", position, "+", at_most + 2)
        known = bool(found) and found[0][0] == position
        changed = found[1:] if known else found
        if not known and position != "0-0":  # deleted, or a position of another Redis
            return StreamPage((), await self.end(), complete=False)
        if len(changed) > at_most:
            return StreamPage((), await self.end(), complete=False)
        subjects = tuple(dict.fromkeys(subject for _, subject in changed))
        return StreamPage(subjects, changed[-1][0] if changed else position, complete=True)

    async def _entries(self, command: str, first: str, last: str, count: int) -> list[tuple[str, str]]:
        rows = await self._client.command(command, self._key, first, last, "COUNT", count)
        return [(bytes(at).decode(), bytes(value).decode()) for at, (_, value) in rows]


class SqliteChangeStream:
    """Reads the rows of a table that `noted` of `changes.py` creates."""

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
            # The row of the position itself exists as long as no row after it was deleted.
            is_known = not seq or len(changed) < len(found)
            if len(changed) > at_most or not is_known:
                return StreamPage((), str(self._end(connection)), complete=False)
            subjects = tuple(dict.fromkeys(row["subject"] for row in changed))
            return StreamPage(subjects, str(changed[-1]["seq"] if changed else seq), complete=True)

        return await self._database.read(work)

    def _end(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [self._table]).fetchone()
        return int(row[0]) if row else 0
