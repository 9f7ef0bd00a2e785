"""Reads the table of changes, and adds what no table shows (`core/storage/changes.py`)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tocsin.core.storage.database import Database

ChangeKind = Literal["created", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """That a record of a topic was changed; `seq` numbers all changes of the data directory."""

    seq: int
    topic: str
    subject: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class ChangePage:
    """What changed after a number: one change for each subject, the latest, by number.

    `end` is the number of the last change there is. Where `complete` is false, changes before these are missing: they
    were deleted, or there are too many.
    """

    changes: Sequence[RecordChange]
    end: int
    complete: bool


class ChangeFeed:
    """The changes of all processes that share the data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def end(self) -> int:
        """Return the number of the last change, 0 where there was none."""
        return await self._database.read(_end)

    async def after(self, seq: int, *, at_most: int) -> ChangePage:
        """Return what changed after the change numbered `seq`, for up to `at_most` subjects."""

        def work(connection: sqlite3.Connection) -> ChangePage:
            connection.execute("BEGIN")  # both statements see the same rows
            try:
                return _after(connection, seq, at_most)
            finally:
                connection.execute("COMMIT")

        return await self._database.read(work)


def note_change(connection: sqlite3.Connection, topic: str, subject: str, kind: ChangeKind = "updated") -> None:
    """Record a change of what no table shows; for use inside a transaction."""
    connection.execute("INSERT INTO changes (topic, subject, kind) VALUES (?, ?, ?)", [topic, subject, kind])


# A record that was created and updated since is new to the reader.
_LATEST = """
    SELECT MAX(seq) AS seq, topic, subject, MAX(kind = 'created') AS created, MAX(seq * (kind = 'deleted')) AS deleted
    FROM changes WHERE seq > ? GROUP BY topic, subject ORDER BY seq DESC LIMIT ?
"""


def _end(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def _after(connection: sqlite3.Connection, seq: int, at_most: int) -> ChangePage:
    end = _end(connection)
    if seq >= end:  # a number that was never given is of another database
        return ChangePage((), end, seq == end)
    oldest = connection.execute("SELECT MIN(seq) FROM changes").fetchone()[0]
    found = connection.execute(_LATEST, [seq, at_most + 1]).fetchall()
    complete = oldest is not None and seq >= oldest - 1 and len(found) <= at_most
    return ChangePage([_change(row) for row in reversed(found[:at_most])], end, complete)


def _change(row: sqlite3.Row) -> RecordChange:
    gone = row["deleted"] == row["seq"]
    return RecordChange(
        row["seq"], row["topic"], row["subject"], "deleted" if gone else "created" if row["created"] else "updated"
    )
