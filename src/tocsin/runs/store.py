"""Runs in the database: every change of state is one transaction, and an ended run never changes."""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.pages import ListPage
from tocsin.core.short_ids import matching
from tocsin.core.storage.database import Database
from tocsin.runs import queue, rows, tasks
from tocsin.runs.approvals import Approvals
from tocsin.runs.filters import RunFilter, conditions
from tocsin.runs.model import (
    ACTIVE,
    FAILING,
    TERMINAL,
    HostResult,
    OutputDelivery,
    OutputDeliveryStatus,
    Run,
    RunOutput,
    RunResult,
    RunStatus,
    StepRun,
)
from tocsin.runs.tasks import RunTask

MAX_PAGE = 200

_ACTIVE_SQL = ", ".join(f"'{status}'" for status in sorted(ACTIVE))
_TERMINAL_SQL = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
_FAILING_SQL = ", ".join(f"'{status}'" for status in sorted(FAILING))


class RunEndedError(TocsinError):
    """The run has ended and cannot be changed."""

    code = "invalid-transition"


class Orphan(NamedTuple):
    """An active run with its owner and its child process."""

    run: Run
    owner: str
    child: str


class ClaimedRun(NamedTuple):
    """A run that this process continues, and what its work is made from."""

    run: Run
    request: Mapping[str, Any]


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

    async def add(self, run: Run, owner: str, task: RunTask | None = None) -> None:
        """Record a new run, its owner, and the task that settles it; raises InstantRecordedError."""

        def work(connection: sqlite3.Connection) -> None:
            rows.insert(connection, run, owner)
            if task is not None:
                tasks.add(connection, run.id, task)

        await self._database.write(work)

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
        wanted, values = conditions(query)
        limit, order = max(1, min(query.limit, MAX_PAGE)), "ASC" if query.oldest_first else "DESC"
        sql = f"SELECT * FROM runs WHERE {' AND '.join(wanted)} ORDER BY id {order} LIMIT ?"  # noqa: S608  # marks only

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
            row = rows.find_row(connection, run_id)
            if row["status"] != RunStatus.QUEUED or row["owner"] != owner:
                raise RunEndedError(f"the run {run_id} cannot begin: it is {row['status']}", hint="start it again")
            connection.execute(_BEGIN, {"now": now, "owner": owner, "id": run_id})
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def release(self, run_id: str, owner: str) -> Run:
        """Let any process continue an active run of `owner`."""
        sql = f"UPDATE runs SET owner = '', child = '' WHERE id = ? AND owner = ? AND status IN ({_ACTIVE_SQL})"  # noqa: S608  # our own words

        def work(connection: sqlite3.Connection) -> Run:
            connection.execute(sql, [run_id, owner])
            return rows.find(connection, run_id)

        return await self._database.write(work)

    async def queued_kinds(self) -> list[str]:
        """Return the kinds of the queued runs that no process owns."""
        sql = f"SELECT DISTINCT kind FROM runs WHERE owner = '' AND status = '{RunStatus.QUEUED}'"  # noqa: S608  # our own words
        return await self._database.read(lambda connection: [row["kind"] for row in connection.execute(sql)])

    async def released(self, queued: Collection[str]) -> list[str]:
        """Return the IDs of active runs that no process owns, the oldest first; of queued ones those of some kinds."""
        marks = ", ".join("?" * len(queued))
        sql = f"""
            SELECT id FROM runs WHERE owner = '' AND (
                status IN ('{RunStatus.RUNNING}', '{RunStatus.WAITING}')
                OR (status = '{RunStatus.QUEUED}' AND +kind IN ({marks}))
            ) ORDER BY id
        """  # noqa: S608  # our own words
        return await self._database.read(lambda connection: [row["id"] for row in connection.execute(sql, [*queued])])

    async def request_of(self, run_id: str) -> Mapping[str, Any]:
        """Return what the work of a run is made from again, empty if its end is settled."""
        task = await self._database.read(lambda connection: tasks.find(connection, run_id))
        return task.request if task else {}

    async def claim(self, run_id: str, owner: str, now: float) -> ClaimedRun | None:
        """Make `owner` the owner of a released run, and let a queued one begin; `None` if it is not its turn yet."""

        def work(connection: sqlite3.Connection) -> ClaimedRun | None:
            run, task = rows.find(connection, run_id), tasks.find(connection, run_id)
            if task is None or not queue.is_next(connection, run):
                return None
            sql = f"UPDATE runs SET owner = ? WHERE id = ? AND owner = '' AND status IN ({_ACTIVE_SQL})"  # noqa: S608  # our own words
            if not connection.execute(sql, [owner, run_id]).rowcount:
                return None
            if run.status is RunStatus.QUEUED:
                connection.execute(_BEGIN, {"now": now, "owner": owner, "id": run_id})
            return ClaimedRun(rows.find(connection, run_id), task.request)

        return await self._database.write(work)

    async def amend_request(self, run_id: str, changes: Mapping[str, Any]) -> None:
        """Change fields of what the work of an active run is made from again."""
        await self._database.write(lambda connection: tasks.amend(connection, run_id, changes))

    async def is_next(self, run: Run) -> bool:
        """Whether no earlier run of the same subject is queued or at work, or the run is not queued any more."""
        return await self._database.read(lambda connection: queue.is_next(connection, run))

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
        """Return the newest 50 runs with messages that ended unsent; an operator may send them again."""
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

    async def forget(self, kind: str, subject: str) -> list[Run]:
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
    wanted, values = conditions(query)
    sql = f"SELECT COUNT(*) FROM runs WHERE {' AND '.join(wanted)}"  # noqa: S608  # marks only
    return int(connection.execute(sql, values).fetchone()[0])
