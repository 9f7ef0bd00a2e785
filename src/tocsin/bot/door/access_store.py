"""Where access requests, decisions and new IDs of groups are kept: the component `access` of the database."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

MAX_PENDING = 1_000  # any chat may ask: strangers must not fill the disk


class AccessState(StrEnum):
    """The access state of a chat."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Record:
    """What was decided, or asked for, at run time. `changed_at` is Unix time."""

    chat_id: str
    state: AccessState
    changed_at: float
    details: Mapping[str, str] = field(default_factory=dict)
    admin_told: bool = False
    notice: str = ""  # the delivery that asked the admin, while the request waits


class AccessStore:
    """Decisions of run time; they survive a restart and are the same for every process."""

    def __init__(self, database: Database, clock: Clock, *, max_pending: int = MAX_PENDING) -> None:
        self._database = database
        self._clock = clock
        self._max_pending = max_pending

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        """Return the chat, then its other IDs, past and present, each with its record."""

        def work(connection: sqlite3.Connection) -> list[tuple[str, Record | None]]:
            moves = connection.execute(
                "SELECT new_id FROM chat_moves WHERE old_id = ? UNION SELECT old_id FROM chat_moves WHERE new_id = ?",
                [chat_id, chat_id],
            )
            ids = [chat_id, *(row[0] for row in moves.fetchall())]
            return [(id_, _record_of(connection, id_)) for id_ in ids]

        return await self._database.read(work)

    async def records(self) -> list[Record]:
        """Return everything recorded: who waits first, then by the time of the change, the newest first."""
        sql = "SELECT * FROM chat_access ORDER BY state <> 'pending', changed_at DESC, chat_id"
        return await self._database.read(lambda c: [_record(row) for row in c.execute(sql).fetchall()])

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        """Store the request of a chat that is unknown; return its record, and whether it is new.

        There is none when too many wait.
        """
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> tuple[Record | None, bool]:
            found = _record_of(connection, chat_id)
            if found and found.state is not AccessState.UNKNOWN:
                return found, False
            waiting = connection.execute("SELECT count(*) FROM chat_access WHERE state = 'pending'").fetchone()[0]
            if waiting >= self._max_pending:
                return None, False
            _write(connection, chat_id, AccessState.PENDING, json.dumps(dict(details)), now)
            return Record(chat_id, AccessState.PENDING, now, details), True

        return await self._database.write(work)

    async def admin_was_told(self, chat_id: str, notice: str) -> None:
        """Keep that the request of `chat_id` needs no further message, and which delivery told the admin."""
        await self._run("UPDATE chat_access SET admin_told = 1, notice = ? WHERE chat_id = ?", notice, chat_id)

    async def decide(self, chat_id: str, state: AccessState) -> None:
        """Record where the chat stands from now on; a recorded UNKNOWN outweighs the setting."""
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT details FROM chat_access WHERE chat_id = ?", [chat_id]).fetchone()
            _write(connection, chat_id, state, row["details"] if row else "{}", now)

        await self._database.write(work)

    async def forget(self, chat_id: str) -> None:
        """Delete the record of the chat."""
        await self._run("DELETE FROM chat_access WHERE chat_id = ?", chat_id)

    async def record_move(self, old_id: str, new_id: str) -> None:
        """Keep that a group became another chat."""
        await self._run("INSERT OR REPLACE INTO chat_moves (old_id, new_id) VALUES (?, ?)", old_id, new_id)

    async def _run(self, sql: str, *values: object) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._database.write(work)


def _write(connection: sqlite3.Connection, chat_id: str, state: AccessState, details: str, now: float) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO chat_access (chat_id, state, details, changed_at) VALUES (?, ?, ?, ?)",
        [chat_id, str(state), details, now],
    )


def _record_of(connection: sqlite3.Connection, chat_id: str) -> Record | None:
    row = connection.execute("SELECT * FROM chat_access WHERE chat_id = ?", [chat_id]).fetchone()
    return _record(row) if row else None


def _record(row: sqlite3.Row) -> Record:
    return Record(
        row["chat_id"],
        AccessState(row["state"]),
        row["changed_at"],
        json.loads(row["details"]),
        bool(row["admin_told"]),
        row["notice"],
    )
