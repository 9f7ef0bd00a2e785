"""Runs in the database: every change of state is one transaction, and an ended run never changes."""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.pages import ListPage
from tocsin.core.short_ids import matching
from tocsin.core.storage.database import Database
from tocsin.runs import rows
from tocsin.runs.approvals import Approvals
from tocsin.runs.model import (
    ACTIVE,
    FAILING,
    TERMINAL,
    HostResult,
    OutputDelivery,
    OutputDeliveryStatus,
    Run,
    RunKind,
    RunOutput,
    RunResult,
    RunStatus,
    StepRun,
)

MAX_PAGE = 200

_TERMINAL_SQL = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
_FAILING_SQL = ", ".join(f"'{status}'" for status in sorted(FAILING))


class RunEndedError(TocsinError):
    """The run has ended and cannot be changed."""

    code = "invalid-transition"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A search for runs, newest first unless told otherwise; an empty field does not restrict it."""

    kind: RunKind | None = None
    subject: str = ""
    status: Collection[RunStatus] = ()
    limit: int = 50
    cursor: str = ""
    since: float | None = None  # queued at or after it
    until: float | None = None  # and before this
    retry_of: str = ""
    parent: str = ""
    parts: bool = False  # with steps and hosts
    text: str = ""  # in the name of the subject, the actor or the reason
    oldest_first: bool = False


class Orphan(NamedTuple):
    """An active run with its owner and its child process."""

    run: Run
    owner: str
    child: str


class Cancelling(NamedTuple):
    """A request to end a run."""

    run_id: str
    reason: str
    grace_s: float


class RunStore:
    """The table of runs, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.approvals = Approvals(database)

    async def add(self, run: Run, owner: str) -> None:
        """Record a new run and its owner; raises InstantRecordedError."""
        await self._database.write(lambda connection: rows.insert(connection, run, owner))

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return await self._database.read(lambda connection: rows.find(connection, run_id))

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these IDs that exist, without steps and hosts."""
        sql = f"SELECT * FROM runs WHERE id IN ({', '.join('?' * len(run_ids))})"  # noqa: S608  # marks only
        return await self._database.read(
            lambda connection: [rows.run_of(row) for row in connection.execute(sql, run_ids)]
        )

    async def search(self, query: RunFilter) -> ListPage[Run]:
        """Return the newest matching runs, or the oldest; looking makes no database."""
        if not self._database.path.exists():
            return ListPage((), None)
        conditions, values = _conditions(query)
        limit, order = max(1, min(query.limit, MAX_PAGE)), "ASC" if query.oldest_first else "DESC"
        sql = f"SELECT * FROM runs WHERE {' AND '.join(conditions)} ORDER BY id {order} LIMIT ?"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Run]:
            found = [rows.run_of(row) for row in connection.execute(sql, [*values, limit + 1])]
            return rows.with_parts(connection, found) if query.parts else found

        found = await self._database.read(work)
        more = len(found) > limit
        return ListPage(tuple(found[:limit]), found[limit - 1].id if more else None)

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` IDs that it may be short for."""
        return await self._database.read(lambda connection: matching(connection, "runs", texts, limit))

    async def count(self, query: RunFilter) -> int:
        """Return the number of matching runs; looking makes no database."""
        return (await self.counts(query))[0]

    async def counts(self, *queries: RunFilter) -> list[int]:
        """Return the number of runs that match each query, all at one moment; looking makes no database."""
        if not self._database.path.exists():
            return [0] * len(queries)

        def work(connection: sqlite3.Connection) -> list[int]:
            return [_count(connection, query) for query in queries]

        return await self._database.read(work)

    async def set_child(self, run_id: str, child: str) -> None:
        """Record the identity of the child process that does the work."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE runs SET child = ? WHERE id = ?", [child, run_id])

        await self._database.write(work)

    async def begin(self, run_id: str, owner: str, now: float) -> Run:
        """Let a queued run begin with this owner; raises UnknownRunError, RunEndedError."""

        def work(connection: sqlite3.Connection) -> Run:
            status = RunStatus(rows.find_row(connection, run_id)["status"])
            if status is not RunStatus.QUEUED:
                raise RunEndedError(f"the run {run_id} cannot begin: it is {status}", hint="start it again")
            connection.execute(_BEGIN, {"now": now, "owner": owner, "id": run_id})
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def save_steps(self, run_id: str, steps: Sequence[StepRun]) -> None:
        """Record steps of an active run; of one that has ended nothing changes."""
        await self._save(run_id, lambda connection: rows.put_parts(connection, run_id, "step", steps))

    async def save_hosts(self, run_id: str, hosts: Sequence[HostResult]) -> None:
        """Record what an active run did on hosts; of one that has ended nothing changes."""
        await self._save(run_id, lambda connection: rows.put_parts(connection, run_id, "host", hosts))

    async def _save(self, run_id: str, save: Callable[[sqlite3.Connection], None]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if rows.find_row(connection, run_id)["status"] in ACTIVE:
                save(connection)

        await self._database.write(work)

    async def set_delivery(self, run_id: str, delivery: OutputDelivery) -> Run:
        """Record how far the messages with a run's output came; this alone may change after its end."""
        columns = {**rows.delivery_columns(delivery), "id": run_id}

        def work(connection: sqlite3.Connection) -> Run:
            connection.execute(_SET_DELIVERY, columns)
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def undelivered(self) -> list[Run]:
        """Return up to 200 runs with messages that have not ended; the oldest first."""
        sql = "SELECT * FROM runs WHERE delivery_status = ? ORDER BY id LIMIT ?"
        values = [OutputDeliveryStatus.PENDING, MAX_PAGE]
        return await self._database.read(
            lambda connection: [rows.run_of(row) for row in connection.execute(sql, values)]
        )

    async def unsent(self) -> list[Run]:
        """Return the newest 50 runs with messages that ended unsent; somebody may send them again."""
        sql = "SELECT * FROM runs WHERE delivery_status IN ('failed', 'partial') ORDER BY id DESC LIMIT 50"
        return await self._database.read(lambda connection: [rows.run_of(row) for row in connection.execute(sql)])

    async def finish(self, run_id: str, ended: RunResult, output: RunOutput, now: float) -> Run:
        """Record the end of a run; one being cancelled becomes cancelled, one that has ended stays unchanged."""

        def work(connection: sqlite3.Connection) -> Run:
            row = rows.find_row(connection, run_id)
            if row["status"] in ACTIVE:
                _finish(connection, row, ended, output, now)
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def request_cancel(self, run_id: str, reason: str, grace_s: float, now: float) -> Run:
        """Request the end of a run; a queued one ends immediately.

        Raises UnknownRunError, and RunEndedError when it has ended already.
        """

        def work(connection: sqlite3.Connection) -> Run:
            row = rows.find_row(connection, run_id)
            status = RunStatus(row["status"])
            if status in TERMINAL:
                raise RunEndedError(f"the run {run_id} has ended: {status}", hint="start it again")
            if status is RunStatus.QUEUED:
                _finish(connection, row, RunResult(RunStatus.CANCELLED, reason or None), RunOutput(), now)
            elif status is not RunStatus.CANCELLING:
                connection.execute(
                    "UPDATE runs SET status = ?, cancel_reason = ?, cancel_grace_s = ? WHERE id = ?",
                    [RunStatus.CANCELLING, reason, grace_s, run_id],
                )
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def cancelling(self, run_ids: Collection[str]) -> list[Cancelling]:
        """Return the requests to end any of these runs."""
        marks = ", ".join("?" * len(run_ids))
        sql = f"SELECT * FROM runs WHERE status = ? AND id IN ({marks})"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Cancelling]:
            found = connection.execute(sql, [RunStatus.CANCELLING, *run_ids])
            return [Cancelling(row["id"], row["cancel_reason"], row["cancel_grace_s"]) for row in found]

        return await self._database.read(work)

    async def active(self, status: Collection[RunStatus] = ACTIVE) -> list[Orphan]:
        """Return all runs that have not ended, or those of them in certain states."""
        marks = ", ".join("?" * len(status))
        sql = f"SELECT * FROM runs WHERE status IN ({marks})"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Orphan]:
            found = connection.execute(sql, list(status))
            return [Orphan(rows.run_of(row), row["owner"], row["child"]) for row in found]

        return await self._database.read(work)

    async def orphan(self, run_id: str) -> Orphan:
        """Return a run with its owner and child; raises UnknownRunError."""

        def work(connection: sqlite3.Connection) -> Orphan:
            row = rows.find_row(connection, run_id)
            return Orphan(rows.run_of(row), row["owner"], row["child"])

        return await self._database.read(work)

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int = 0) -> list[Run]:
        """Delete runs that ended long ago, and all but the newest `keep` of each subject; return them.

        Failed runs count apart: the newest `keep_failed` of each subject stay, or `keep` where that is more. What the
        newest run of a subject says about history counts for all its runs. A run with messages under way stays.
        """
        limits = {"now": now, "days": keep_days, "keep": keep, "keep_failed": keep_failed}

        def work(connection: sqlite3.Connection) -> list[Run]:
            found = [rows.run_of(row) for row in connection.execute(_OLD, limits)]
            rows.forget(connection, [run.id for run in found])
            return found

        return await self._database.write(work)

    async def forget(self, kind: RunKind, subject: str) -> list[Run]:
        """Delete the runs of a subject that have ended; return them."""
        sql = f"SELECT * FROM runs WHERE kind = ? AND subject_id = ? AND status IN ({_TERMINAL_SQL})"  # noqa: S608  # our own words

        def work(connection: sqlite3.Connection) -> list[Run]:
            found = [rows.run_of(row) for row in connection.execute(sql, [kind, subject])]
            rows.forget(connection, [run.id for run in found])
            return found

        return await self._database.write(work)


_FINISH = """
    UPDATE runs SET status = :status, reason = :reason, exit_code = :exit_code, signal = :signal, error = :error,
        output_bytes = :bytes, output_lines = :lines, output_truncated = :truncated, output_tail = :tail,
        finished_at = :now
    WHERE id = :id
"""
_SAYS = """
    INSTR(LOWER(subject_name || char(10) || COALESCE(actor, '') || char(10) || COALESCE(reason, '')), LOWER(?)) > 0
"""
_BEGIN = "UPDATE runs SET status = 'running', started_at = :now, owner = :owner WHERE id = :id"
_SET_DELIVERY = """
    UPDATE runs SET delivery_status = :delivery_status, delivery_results = :delivery_results,
        delivery_queued = :delivery_queued
    WHERE id = :id
"""
_OLD = f"""
    SELECT * FROM (
        SELECT *,
            ROW_NUMBER() OVER (PARTITION BY kind, subject_id, status IN ({_FAILING_SQL}) ORDER BY id DESC) AS place,
            COALESCE(FIRST_VALUE(history_limit) OVER subject, :keep) AS at_most,
            COALESCE(FIRST_VALUE(history_days) OVER subject, :days) AS days
        FROM runs WHERE status IN ({_TERMINAL_SQL})
        WINDOW subject AS (PARTITION BY kind, subject_id ORDER BY id DESC)
    )
    WHERE (
        place > IIF(status IN ({_FAILING_SQL}), MAX(at_most, :keep_failed), at_most)
        OR finished_at < :now - days * 86400
    ) AND delivery_status <> 'pending'
"""  # noqa: S608  # our own words


def _finish(connection: sqlite3.Connection, row: sqlite3.Row, ended: RunResult, output: RunOutput, now: float) -> None:
    cancelled = row["status"] == RunStatus.CANCELLING
    status = RunStatus.CANCELLED if cancelled else ended.status
    if status not in TERMINAL:
        raise AssertionError(f"{status} does not end a run")
    rows.end_parts(connection, rows.find(connection, row["id"]), status, now)
    values = {
        "status": status,
        "reason": (row["cancel_reason"] or "it was cancelled") if cancelled else ended.reason,
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "error": None if cancelled else rows.written(ended.error),
        "bytes": output.bytes,
        "lines": output.lines,
        "truncated": output.truncated,
        "tail": output.tail,
        "now": now,
        "id": row["id"],
    }
    connection.execute(_FINISH, values)


def _count(connection: sqlite3.Connection, query: RunFilter) -> int:
    conditions, values = _conditions(query)
    sql = f"SELECT COUNT(*) FROM runs WHERE {' AND '.join(conditions)}"  # noqa: S608  # marks only
    return int(connection.execute(sql, values).fetchone()[0])


def _conditions(query: RunFilter) -> tuple[list[str], list[Any]]:
    """Return the conditions of a query and their parameters."""
    marks = ", ".join("?" * len(query.status))
    wanted: list[tuple[str, list[Any]]] = [
        ("kind = ?", [query.kind] if query.kind else []),
        ("subject_id = ?", [query.subject] if query.subject else []),
        (f"status IN ({marks})", list(query.status)),
        ("id > ?" if query.oldest_first else "id < ?", [query.cursor] if query.cursor else []),
        ("queued_at >= ?", [] if query.since is None else [query.since]),
        ("queued_at < ?", [] if query.until is None else [query.until]),
        ("retry_of = ?", [query.retry_of] if query.retry_of else []),
        ("parent_run_id = ?", [query.parent] if query.parent else []),
        (_SAYS, [query.text] if query.text else []),
    ]
    used = [(condition, values) for condition, values in wanted if values]
    return ["TRUE", *(c for c, _ in used)], [value for _, values in used for value in values]
