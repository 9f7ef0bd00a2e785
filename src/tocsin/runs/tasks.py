"""What the engine stores about a run until its end is settled, as parts of transactions."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tocsin.runs import rows
from tocsin.runs.model import Run, RunStatus

OWNERS_S = 5.0  # for so long the process that ran it may settle it before others do


@dataclass(frozen=True, slots=True)
class RunTask:
    """The part of a run that no record shows."""

    request: Mapping[str, Any] = field(default_factory=dict)  # what its work is made from again
    caller: Mapping[str, object] = field(default_factory=dict)  # facts about the caller, for the audit entry
    not_before: float | None = None  # a queued run begins at this time or later
    noted: Mapping[str, Any] | None = None  # set when it is settled and the operator may not have been notified
    noted_at: float | None = None


def add(connection: sqlite3.Connection, run_id: str, task: RunTask = RunTask()) -> None:  # it is frozen
    """Note that the end of a run has to be settled."""
    values = [run_id, json.dumps(dict(task.request)), json.dumps(dict(task.caller)), task.not_before]
    connection.execute("INSERT INTO run_tasks (run_id, request, caller, not_before) VALUES (?, ?, ?, ?)", values)


def insert(connection: sqlite3.Connection, run: Run, owner: str, task: RunTask = RunTask()) -> None:
    """Record a new run of `owner` with its task; raises InstantRecordedError."""
    rows.insert(connection, run, owner)
    add(connection, run.id, task)


def find(connection: sqlite3.Connection, run_id: str) -> RunTask | None:
    """Return the task of a run, `None` if its end is settled."""
    row = connection.execute("SELECT * FROM run_tasks WHERE run_id = ?", [run_id]).fetchone()
    if row is None:
        return None
    noted = None if row["noted"] is None else json.loads(row["noted"])
    return RunTask(json.loads(row["request"]), json.loads(row["caller"]), row["not_before"], noted, row["noted_at"])


def amend(connection: sqlite3.Connection, run_id: str, changes: Mapping[str, Any]) -> None:
    """Change fields of the request of a run that is not settled; mappings are merged."""
    sql = "UPDATE run_tasks SET request = json_patch(request, ?) WHERE run_id = ?"
    connection.execute(sql, [json.dumps(dict(changes)), run_id])


def settle(connection: sqlite3.Connection, run_id: str, noted: Mapping[str, Any], now: float) -> None:
    """Note that a run is settled; `noted` is what the operator has still to be notified of."""
    sql = "UPDATE run_tasks SET noted = ?, noted_at = ? WHERE run_id = ?"
    connection.execute(sql, [json.dumps(dict(noted)), now, run_id])


def remove(connection: sqlite3.Connection, run_id: str) -> bool:
    """Delete the task of a run; return False if there is none."""
    return connection.execute("DELETE FROM run_tasks WHERE run_id = ?", [run_id]).rowcount == 1


def delays(connection: sqlite3.Connection, kind: str) -> dict[str, float]:
    """Return by run when it may begin, for those that do not begin at once."""
    sql = """
        SELECT run_id, not_before FROM run_tasks JOIN runs ON runs.id = run_id
        WHERE not_before IS NOT NULL AND kind = ? AND status = ?
    """
    return {row["run_id"]: row["not_before"] for row in connection.execute(sql, [kind, RunStatus.QUEUED])}


def unsettled(connection: sqlite3.Connection, now: float, limit: int) -> list[Run]:
    """Return ended runs that are not settled.

    Their own process has a few seconds to do that, except for runs that never began and those of a dead process.
    """
    # CROSS JOIN: SQLite would go through all runs, and look each up in the short table.
    sql = """
        SELECT runs.* FROM run_tasks CROSS JOIN runs ON runs.id = run_id
        WHERE finished_at IS NOT NULL
            AND (started_at IS NULL OR status = :interrupted OR finished_at NOT BETWEEN :recent AND :now)
            AND (noted_at IS NULL OR noted_at NOT BETWEEN :recent AND :now)
        ORDER BY run_id LIMIT :limit
    """
    values = {"interrupted": RunStatus.INTERRUPTED, "recent": now - OWNERS_S, "now": now, "limit": limit}
    return rows.with_parts(connection, [rows.run_of(row) for row in connection.execute(sql, values)])
