"""Access decisions in the database of this host: the component `access`."""

import json
import sqlite3
from collections.abc import Mapping, Sequence

from tocsin.bot.door.access_store import MAX_PENDING, AccessState, Record, state_of
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock


class SqliteAccessStore:
    """Decisions of run time, the same for every process that shares the data directory."""

    def __init__(self, database: Database, clock: Clock, *, max_pending: int = MAX_PENDING) -> None:
        self._database = database
        self._clock = clock
        self._max_pending = max_pending

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        def work(connection: sqlite3.Connection) -> list[tuple[str, Record | None]]:
            moves = connection.execute(
                "SELECT new_id FROM chat_moves WHERE old_id = ? UNION SELECT old_id FROM chat_moves WHERE new_id = ?",
                [chat_id, chat_id],
            )
            ids = [chat_id, *(row[0] for row in moves.fetchall())]
            return [(id_, _record_of(connection, id_)) for id_ in ids]

        return await self._database.read(work)

    async def records(self) -> list[Record]:
        sql = "SELECT * FROM chat_access ORDER BY state <> 'pending', changed_at DESC, chat_id"
        return await self._database.read(lambda c: [_record(row) for row in c.execute(sql).fetchall()])

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> tuple[Record | None, bool]:
            found = _record_of(connection, chat_id)
            if found and found.state is not AccessState.UNKNOWN:
                return found, False
            waiting = connection.execute("SELECT count(*) FROM chat_access WHERE state = 'pending'").fetchone()[0]
            if waiting >= self._max_pending:
                return None, False
            record = Record(chat_id, AccessState.PENDING, now, details)
            _write(connection, record)
            return record, True

        return await self._database.write(work)

    async def admin_was_told(self, chat_id: str, notice: str) -> None:
        await self._run("UPDATE chat_access SET admin_told = 1, notice = ? WHERE chat_id = ?", notice, chat_id)

    async def decide(self, chat_id: str, state: AccessState) -> bool:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> bool:
            found = _record_of(connection, chat_id)
            if found and found.state is state:
                return False
            _write(connection, Record(chat_id, state, now, found.details if found else {}))
            return True

        return await self._database.write(work)

    async def forget(self, chat_id: str) -> bool:
        return await self._run("DELETE FROM chat_access WHERE chat_id = ?", chat_id)

    async def record_move(self, old_id: str, new_id: str) -> None:
        await self._run("INSERT OR REPLACE INTO chat_moves (old_id, new_id) VALUES (?, ?)", old_id, new_id)

    async def moves(self) -> Sequence[tuple[str, str]]:
        sql = "SELECT old_id, new_id FROM chat_moves ORDER BY old_id"
        return await self._database.read(lambda c: [(row["old_id"], row["new_id"]) for row in c.execute(sql)])

    async def restore(self, record: Record) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if _record_of(connection, record.chat_id):
                return False
            _write(connection, record)
            return True

        return await self._database.write(work)

    async def _run(self, sql: str, *values: object) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute(sql, values).rowcount > 0

        return await self._database.write(work)


def _write(connection: sqlite3.Connection, record: Record) -> None:
    details = json.dumps(dict(record.details))
    connection.execute(
        "INSERT OR REPLACE INTO chat_access (chat_id, state, details, changed_at, admin_told, notice)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [record.chat_id, str(record.state), details, record.changed_at, record.admin_told, record.notice],
    )


def _record_of(connection: sqlite3.Connection, chat_id: str) -> Record | None:
    row = connection.execute("SELECT * FROM chat_access WHERE chat_id = ?", [chat_id]).fetchone()
    return _record(row) if row else None


def _record(row: sqlite3.Row) -> Record:
    return Record(
        row["chat_id"],
        state_of(row["state"]),
        row["changed_at"],
        json.loads(row["details"]),
        bool(row["admin_told"]),
        row["notice"],
    )
