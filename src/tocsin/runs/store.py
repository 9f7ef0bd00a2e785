"""Runs in the database: every change of state is one transaction, and an ended run never changes."""

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.storage.database import Database
from tocsin.runs.model import ACTIVE, TERMINAL, Run, RunKind, RunOutput, RunResult, RunStatus, RunTrigger

MAX_PAGE = 200

_TERMINAL_SQL = ", ".join(f"'{status}'" for status in sorted(TERMINAL))


class UnknownRunError(TocsinError):
    """No run has this ID, or it was deleted."""

    code = "not-found"


class RunEndedError(TocsinError):
    """The run has ended and cannot be changed."""

    code = "invalid-transition"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A search for runs, newest first; an empty field does not restrict it."""

    kind: RunKind | None = None
    subject: str = ""
    status: Collection[RunStatus] = ()
    limit: int = 50
    cursor: str = ""
    since: float | None = None


class RunPage(NamedTuple):
    """A page of runs, and the cursor of the next one."""

    items: tuple[Run, ...]
    next_cursor: str | None


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

    async def add(self, run: Run, owner: str) -> None:
        """Record a new run and its owner."""
        row = {**_row(run), "owner": owner}
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names

        await self._database.write(work)

    async def get(self, run_id: str) -> Run:
        """Return one run; raises UnknownRunError."""
        return await self._database.read(lambda connection: _run(_find(connection, run_id)))

    async def search(self, query: RunFilter) -> RunPage:
        """Return the newest matching runs."""
        conditions, values = _conditions(query)
        limit = max(1, min(query.limit, MAX_PAGE))
        sql = f"SELECT * FROM runs WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Run]:
            return [_run(row) for row in connection.execute(sql, [*values, limit + 1])]

        found = await self._database.read(work)
        more = len(found) > limit
        return RunPage(tuple(found[:limit]), found[limit - 1].id if more else None)

    async def count(self, query: RunFilter) -> int:
        """Return the number of matching runs."""
        conditions, values = _conditions(query)
        sql = f"SELECT COUNT(*) FROM runs WHERE {' AND '.join(conditions)}"  # noqa: S608  # marks only
        return await self._database.read(lambda connection: int(connection.execute(sql, values).fetchone()[0]))

    async def set_child(self, run_id: str, child: str) -> None:
        """Record the identity of the child process that does the work."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE runs SET child = ? WHERE id = ?", [child, run_id])

        await self._database.write(work)

    async def finish(self, run_id: str, ended: RunResult, output: RunOutput, now: float) -> Run:
        """Record the end of a run; one being cancelled becomes cancelled, one that has ended stays unchanged."""

        def work(connection: sqlite3.Connection) -> Run:
            row = _find(connection, run_id)
            if row["status"] in ACTIVE:
                connection.execute(_FINISH, {**_ending(row, ended, output), "now": now, "id": run_id})
            return _run(_find(connection, run_id))

        return await self._database.write(work)

    async def request_cancel(self, run_id: str, reason: str, grace_s: float, now: float) -> Run:
        """Request the end of a run; a queued one ends immediately.

        Raises UnknownRunError, and RunEndedError when it has ended already.
        """

        def work(connection: sqlite3.Connection) -> Run:
            row = _find(connection, run_id)
            status = RunStatus(row["status"])
            if status in TERMINAL:
                raise RunEndedError(f"the run {run_id} has ended: {status}", hint="start it again")
            if status is RunStatus.QUEUED:
                ended = _ending(row, RunResult(RunStatus.CANCELLED, reason or None), RunOutput())
                connection.execute(_FINISH, {**ended, "now": now, "id": run_id})
            elif status is not RunStatus.CANCELLING:
                connection.execute(
                    "UPDATE runs SET status = ?, cancel_reason = ?, cancel_grace_s = ? WHERE id = ?",
                    [RunStatus.CANCELLING, reason, grace_s, run_id],
                )
            return _run(_find(connection, run_id))

        return await self._database.write(work)

    async def cancelling(self, run_ids: Collection[str]) -> list[Cancelling]:
        """Return the requests to end any of these runs."""
        marks = ", ".join("?" * len(run_ids))
        sql = f"SELECT * FROM runs WHERE status = ? AND id IN ({marks})"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Cancelling]:
            rows = connection.execute(sql, [RunStatus.CANCELLING, *run_ids])
            return [Cancelling(row["id"], row["cancel_reason"], row["cancel_grace_s"]) for row in rows]

        return await self._database.read(work)

    async def at_work(self) -> list[Orphan]:
        """Return all active runs."""
        sql = "SELECT * FROM runs WHERE status IN (?, ?, ?)"
        values = [RunStatus.RUNNING, RunStatus.WAITING, RunStatus.CANCELLING]

        def work(connection: sqlite3.Connection) -> list[Orphan]:
            return [Orphan(_run(row), row["owner"], row["child"]) for row in connection.execute(sql, values)]

        return await self._database.read(work)

    async def prune(self, before: float, keep: int) -> list[Run]:
        """Delete runs that ended before a time, and all but the newest `keep` of each subject; return them."""

        def work(connection: sqlite3.Connection) -> list[Run]:
            rows = connection.execute(_OLD, {"before": before, "keep": keep}).fetchall()
            connection.executemany("DELETE FROM runs WHERE id = ?", [[row["id"]] for row in rows])
            return [_run(row) for row in rows]

        return await self._database.write(work)


_FINISH = """
    UPDATE runs SET status = :status, reason = :reason, exit_code = :exit_code, signal = :signal, error = :error,
        output_bytes = :bytes, output_lines = :lines, output_truncated = :truncated, output_tail = :tail,
        finished_at = :now
    WHERE id = :id
"""
_OLD = f"""
    SELECT * FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY kind, subject_id ORDER BY id DESC) AS place
        FROM runs WHERE status IN ({_TERMINAL_SQL})
    ) WHERE place > :keep OR finished_at < :before
"""  # noqa: S608  # our own words


def _ending(row: sqlite3.Row, ended: RunResult, output: RunOutput) -> dict[str, Any]:
    cancelled = row["status"] == RunStatus.CANCELLING
    return {
        "status": RunStatus.CANCELLED if cancelled else ended.status,
        "reason": (row["cancel_reason"] or "it was cancelled") if cancelled else ended.reason,
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "error": None if cancelled or ended.error is None else json.dumps(dict(ended.error)),
        "bytes": output.bytes,
        "lines": output.lines,
        "truncated": output.truncated,
        "tail": output.tail,
    }


def _conditions(query: RunFilter) -> tuple[list[str], list[Any]]:
    """Return the conditions of a query and their parameters."""
    marks = ", ".join("?" * len(query.status))
    wanted: list[tuple[str, list[Any]]] = [
        ("kind = ?", [query.kind] if query.kind else []),
        ("subject_id = ?", [query.subject] if query.subject else []),
        (f"status IN ({marks})", list(query.status)),
        ("id < ?", [query.cursor] if query.cursor else []),
        ("queued_at >= ?", [] if query.since is None else [query.since]),
    ]
    used = [(condition, values) for condition, values in wanted if values]
    return ["TRUE", *(c for c, _ in used)], [value for _, values in used for value in values]


def _find(connection: sqlite3.Connection, run_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
    if row is None:
        raise UnknownRunError(f"there is no run {run_id[:60]}", hint="it may have been deleted; list the runs")
    return row


def _row(run: Run) -> Mapping[str, Any]:
    return {
        "id": run.id,
        "kind": run.kind,
        "subject_id": run.subject_id,
        "subject_name": run.subject_name,
        "triggered_by": run.trigger,
        "status": run.status,
        "queued_at": run.queued_at,
        "actor": run.actor,
        "reason": run.reason,
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "retry_of": run.retry_of,
        "parent_run_id": run.parent_run_id,
        "scheduled_for": run.scheduled_for,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "dry_run": run.dry_run,
        "params": json.dumps(dict(run.params), default=str),
        "env_keys": json.dumps(run.env_keys),
        "error": None if run.error is None else json.dumps(dict(run.error)),
    }


def _run(row: sqlite3.Row) -> Run:
    return Run(
        id=row["id"],
        kind=RunKind(row["kind"]),
        subject_id=row["subject_id"],
        subject_name=row["subject_name"],
        trigger=RunTrigger(row["triggered_by"]),
        status=RunStatus(row["status"]),
        queued_at=row["queued_at"],
        actor=row["actor"],
        reason=row["reason"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        retry_of=row["retry_of"],
        parent_run_id=row["parent_run_id"],
        scheduled_for=row["scheduled_for"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        exit_code=row["exit_code"],
        signal=row["signal"],
        dry_run=bool(row["dry_run"]),
        params=json.loads(row["params"]),
        env_keys=tuple(json.loads(row["env_keys"])),
        output=RunOutput(row["output_bytes"], row["output_lines"], bool(row["output_truncated"]), row["output_tail"]),
        error=None if row["error"] is None else json.loads(row["error"]),
    )
