"""Reads the table of changes, and adds changes that no trigger records (`core/storage/changes.py`)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tocsin.core.storage.database import Database

ChangeKind = Literal["created", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A change of a record; `seq` numbers all changes of the data directory."""

    seq: int
    topic: str
    subject: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class ChangePage:
    """The changes after a number: the latest change of each subject, by number.

    `end` is the number of the last change of all. `complete` is false if earlier changes are missing: they were
    deleted, or there are too many.
    """

    changes: Sequence[RecordChange]
    end: int
    complete: bool


class ChangeFeed:
    """The changes by all processes that share the data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def end(self) -> int:
        """Return the number of the last change, 0 if there is none."""
        return await self._database.read(_end)

    async def after(self, seq: int, *, at_most: int) -> ChangePage:
        """Return the changes after the number `seq`, for up to `at_most` subjects."""

        def work(connection: sqlite3.Connection) -> ChangePage:
            connection.execute("BEGIN")  # both statements see the same rows
            try:
                return _after(connection, seq, at_most)
            finally:
                connection.execute("COMMIT")

        return await self._database.read(work)


def note_change(connection: sqlite3.Connection, topic: str, subject: str, kind: ChangeKind = "updated") -> None:
    """Record a change that no trigger records; call it inside a transaction."""
    connection.execute("INSERT INTO changes (topic, subject, kind) VALUES (?, ?, ?)", [topic, subject, kind])


# A record that was created and then updated is new to the reader.
_LATEST = """
    SELECT MAX(seq) AS seq, topic, subject, MAX(kind = 'created') AS created, MAX(seq * (kind = 'deleted')) AS deleted
    FROM changes WHERE seq > ? GROUP BY topic, subject ORDER BY seq DESC LIMIT ?
"""


def _end(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def _after(connection: sqlite3.Connection, seq: int, at_most: int) -> ChangePage:
    end = _end(connection)
    if seq >= end:  # a number that was not issued is of another database
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
