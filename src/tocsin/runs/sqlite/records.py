"""The records of runs in SQLite; every method is one transaction."""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from tocsin.core.short_ids import matching
from tocsin.core.storage.database import Database
from tocsin.runs.columns import read_run
from tocsin.runs.engine.metrics import ActiveCount, RunFigures, RunTotal
from tocsin.runs.filters import RunFilter, conditions
from tocsin.runs.model import (
    ACTIVE,
    AT_WORK,
    FAILING,
    TERMINAL,
    HostResult,
    OutputDeliveryStatus,
    Run,
    RunStatus,
    StepRun,
)
from tocsin.runs.queue import ActiveRow, QueuedRow, RecentRun, RunQueue, SubjectPast
from tocsin.runs.records import ReleasedRun
from tocsin.runs.sqlite import rows
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import InstantRecordedError, StoredRun, unknown_question

T = TypeVar("T")

_LOOKED_AT_ONCE = 25  # subjects per transaction: reading thousands of runs at a time would delay other readers


def _words(status: Collection[RunStatus]) -> str:
    return ", ".join(f"'{each}'" for each in sorted(status))


def sqlite_runs(database: Database) -> RunStore:
    """Return the store of runs shared by the processes that use a database."""
    return RunStore(SqliteRunRecords(database))


class SqliteRunRecords:
    """The tables of runs, shared with other processes of the data directory."""

    home = ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changes(self) -> None:
        return None

    async def add(self, record: StoredRun) -> None:
        await self._database.write(lambda connection: rows.insert(connection, record))

    async def enqueue(self, records: Sequence[StoredRun]) -> list[Run]:
        return await self._database.write(lambda c: [record.run for record in records if _enqueue(c, record)])

    async def get(self, run_id: str) -> StoredRun:
        return await self._database.read(lambda connection: rows.find(connection, run_id, parts=True))

    async def change(
        self,
        run_id: str,
        edit: Callable[[StoredRun], StoredRun],
        *,
        parts: bool = False,
        also: StoredRun | None = None,
    ) -> StoredRun:
        def work(connection: sqlite3.Connection) -> StoredRun:
            before = rows.find(connection, run_id, parts=parts)
            after = edit(before)
            rows.update(connection, before, after)
            if also:
                rows.insert(connection, also)
            return after

        return await self._database.write(work)

    async def save_parts(self, run_id: str, parts: Sequence[StepRun] | Sequence[HostResult]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if rows.find_status(connection, run_id) in ACTIVE:
                rows.put_parts(connection, run_id, parts)

        await self._database.write(work)

    async def decide(self, kind: str, choose: Callable[[RunQueue], T]) -> T:
        return await self._database.write(lambda connection: choose(_SqliteQueue(connection, kind)))

    async def look(self, kind: str, see: Callable[[RunQueue], T]) -> T:
        return await self._database.read(lambda connection: see(_SqliteQueue(connection, kind)))

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        return await self._runs(f"SELECT * FROM runs WHERE id IN ({', '.join('?' * len(run_ids))})", *run_ids)  # noqa: S608  # marks only

    async def search(self, query: RunFilter) -> list[Run]:
        if not self._database.path.exists():
            return []
        wanted, values = conditions(query)
        order = "ASC" if query.oldest_first else "DESC"
        sql = f"SELECT * FROM runs WHERE {' AND '.join(wanted)} ORDER BY id {order} LIMIT ?"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Run]:
            found = [read_run(row) for row in connection.execute(sql, [*values, query.limit])]
            return rows.with_parts(connection, found) if query.parts else found

        return await self._database.read(work)

    async def counts(self, queries: Sequence[RunFilter]) -> list[int]:
        if not self._database.path.exists():
            return [0] * len(queries)
        return await self._database.read(lambda connection: [_count(connection, query) for query in queries])

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        return await self._database.read(lambda connection: matching(connection, "runs", texts, limit))

    async def active(self, status: Collection[RunStatus]) -> list[StoredRun]:
        sql = f"SELECT * FROM runs WHERE status IN ({', '.join('?' * len(status))})"  # noqa: S608  # marks only
        return await self._database.read(lambda c: rows.read_records(c, c.execute(sql, list(status)).fetchall()))

    async def released(self) -> list[ReleasedRun]:
        sql = f"SELECT id, kind, status FROM runs WHERE owner = '' AND status IN ({_words(ACTIVE)}) ORDER BY id"  # noqa: S608  # our own words
        return await self._database.read(lambda c: [ReleasedRun(*row) for row in c.execute(sql)])

    async def unsettled(self) -> list[StoredRun]:
        # CROSS JOIN, because SQLite would otherwise scan all runs and look each one up in the short table.
        sql = """
            SELECT runs.* FROM run_tasks CROSS JOIN runs ON runs.id = run_id
            WHERE finished_at IS NOT NULL ORDER BY run_id
        """
        return await self._database.read(lambda c: rows.read_records(c, c.execute(sql).fetchall()))

    async def delivering(self, status: Collection[OutputDeliveryStatus], limit: int, *, newest: bool) -> list[Run]:
        words = ", ".join(f"'{each}'" for each in status)  # as literals, which the partial indices require
        sql = f"SELECT * FROM runs WHERE delivery_status IN ({words}) ORDER BY id {'DESC' if newest else 'ASC'} LIMIT ?"  # noqa: S608  # our own words
        return await self._runs(sql, limit)

    async def asked(self, question: str) -> str:
        sql = "SELECT run_id FROM run_waits WHERE question = ? AND question <> '' AND approved IS NULL"

        def work(connection: sqlite3.Connection) -> str:
            row = connection.execute(sql, [question]).fetchone()
            if row is None:
                raise unknown_question()
            return str(row["run_id"])

        return await self._database.read(work)

    async def last_failed(self, kind: str) -> list[Run]:
        sql = f"""
            SELECT runs.* FROM runs JOIN (
                SELECT MAX(id) AS newest FROM runs
                WHERE kind = ? AND started_at IS NOT NULL AND finished_at IS NOT NULL AND status <> 'cancelled'
                GROUP BY subject_id
            ) ON id = newest WHERE status IN ({_words(FAILING)}) ORDER BY id
        """  # noqa: S608  # our own words
        return await self._runs(sql, kind)

    async def pasts(self, kind: str, subjects: Sequence[str], limit: int) -> list[SubjectPast]:
        def work(connection: sqlite3.Connection, some: Sequence[str]) -> list[SubjectPast]:
            return [_past(connection, kind, subject, limit) for subject in some]

        found: list[SubjectPast] = []
        for start in range(0, len(subjects), _LOOKED_AT_ONCE):
            some = subjects[start : start + _LOOKED_AT_ONCE]
            found += await self._database.read(partial(work, some=some))
        return found

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int) -> list[Run]:
        limits = {"now": now, "days": keep_days, "keep": keep, "keep_failed": keep_failed}

        def work(connection: sqlite3.Connection) -> list[Run]:
            found = [read_run(row) for row in connection.execute(_OLD, limits)]
            rows.forget(connection, [run.id for run in found])
            return found

        return await self._database.write(work)

    async def figures(self, now: float) -> RunFigures:
        def work(connection: sqlite3.Connection) -> RunFigures:
            return RunFigures(
                [RunTotal(*row) for row in connection.execute("SELECT * FROM run_totals")],
                [ActiveCount(*row) for row in connection.execute(_ACTIVE_COUNTS, {"now": now})],
            )

        return await self._database.read(work) if self._database.path.exists() else RunFigures([], [])

    async def remove(self, run_ids: Sequence[str]) -> None:
        await self._database.write(lambda connection: rows.forget(connection, run_ids))

    async def _runs(self, sql: str, *values: object) -> list[Run]:
        return await self._database.read(lambda c: [read_run(row) for row in c.execute(sql, values)])


class _SqliteQueue:
    """The runs of one kind that have not ended, within a transaction."""

    def __init__(self, connection: sqlite3.Connection, kind: str) -> None:
        self._connection = connection
        self._kind = kind

    def at_work(self) -> list[ActiveRow]:
        # The unary plus keeps SQLite from scanning all runs of the kind; few of them are active.
        sql = f"""
            SELECT id, subject_id, started_at, status = 'cancelling' FROM runs
            WHERE status IN ({_words(AT_WORK)}) AND +kind = ?
        """  # noqa: S608  # our own words
        return [ActiveRow(*row) for row in self._connection.execute(sql, [self._kind])]

    def queued(self) -> list[QueuedRow]:
        return [QueuedRow(*row) for row in self._connection.execute(_QUEUED, [self._kind])]

    def add(self, record: StoredRun) -> None:
        rows.insert(self._connection, record)

    def change(self, run_id: str, edit: Callable[[StoredRun], StoredRun]) -> StoredRun:
        before = rows.find(self._connection, run_id, parts=False)
        after = edit(before)
        rows.update(self._connection, before, after)
        return after


_QUEUED = """
    SELECT id, subject_id, subject_name, triggered_by, snapshot, source, scheduled_for, retry_of, not_before,
        COALESCE(scheduled_for, queued_at) AS due_at, TRUE, owner
    FROM runs LEFT JOIN run_tasks ON run_id = id WHERE status = 'queued' AND +kind = ? ORDER BY due_at, id
"""
_ACTIVE_COUNTS = f"""
    SELECT kind, status, COUNT(*), MIN(
        CASE WHEN status = 'queued' AND COALESCE(not_before, 0) <= :now THEN MAX(queued_at, COALESCE(not_before, 0)) END
    )
    FROM runs LEFT JOIN run_tasks ON run_id = id WHERE status IN ({_words(ACTIVE)}) GROUP BY kind, status
"""  # noqa: S608  # our own words
_OLD = f"""
    SELECT * FROM (
        SELECT *,
            ROW_NUMBER() OVER (PARTITION BY kind, subject_id, status IN ({_words(FAILING)}) ORDER BY id DESC) AS place,
            COALESCE(FIRST_VALUE(history_limit) OVER subject, :keep) AS at_most,
            COALESCE(FIRST_VALUE(history_days) OVER subject, :days) AS days
        FROM runs WHERE status IN ({_words(TERMINAL)})
        WINDOW subject AS (PARTITION BY kind, subject_id ORDER BY id DESC)
    )
    WHERE (
        place > IIF(status IN ({_words(FAILING)}), MAX(at_most, :keep_failed), at_most)
        OR finished_at < :now - days * 86400
    ) AND delivery_status <> 'pending'
"""  # noqa: S608  # our own words
_GLIMPSES = f"""
    SELECT {", ".join(RecentRun._fields)} FROM runs WHERE kind = ? AND subject_id = ? ORDER BY id DESC LIMIT ?
"""  # noqa: S608  # our own names
_LAST = "SELECT * FROM runs WHERE kind = ? AND subject_id = ? ORDER BY id DESC LIMIT 1"


def _enqueue(connection: sqlite3.Connection, record: StoredRun) -> bool:
    run = record.run
    try:
        rows.insert(connection, record)
    except InstantRecordedError:
        sql = """
            SELECT id FROM runs WHERE kind = ? AND subject_id = ? AND scheduled_for = ?
                AND status IN ('missed', 'skipped')
        """
        found = connection.execute(sql, [run.kind, run.subject_id, run.scheduled_for]).fetchone()
        if found is None:
            return False
        rows.forget(connection, [found["id"]])
        rows.insert(connection, record)
    return True


def _past(connection: sqlite3.Connection, kind: str, subject: str, limit: int) -> SubjectPast:
    row = connection.execute(_LAST, [kind, subject]).fetchone()
    history = [RecentRun(*each) for each in connection.execute(_GLIMPSES, [kind, subject, limit])]
    return SubjectPast(read_run(row) if row else None, history)


def _count(connection: sqlite3.Connection, query: RunFilter) -> int:
    wanted, values = conditions(query)
    sql = f"SELECT COUNT(*) FROM runs WHERE {' AND '.join(wanted)}"  # noqa: S608  # marks only
    return int(connection.execute(sql, values).fetchone()[0])
