"""Queued runs as parts of the transactions of those who schedule.

Each function works on the connection of `Database.write` or `Database.read`: a scheduler records what is due, advances
its own cursor and confirms its lease in one transaction. A run that is queued so has no owner: it belongs to whichever
process schedules its kind.
"""

import sqlite3
from typing import NamedTuple

from tocsin.runs import rows
from tocsin.runs.model import (
    ACTIVE,
    AT_WORK,
    FAILING,
    TERMINAL,
    OutputDelivery,
    Run,
    RunResult,
    RunStatus,
    RunTrigger,
    milliseconds,
)

_NEVER_RAN = (RunStatus.MISSED, RunStatus.SKIPPED)
# The plus keeps SQLite from going through all runs of the kind: few are queued.
_QUEUED = "SELECT {} FROM runs WHERE status = ? AND +kind = ? ORDER BY COALESCE(scheduled_for, queued_at), id"
_ACTIVE = ", ".join(f"'{status}'" for status in sorted(ACTIVE))
_ENDED = ", ".join(f"'{status}'" for status in sorted(TERMINAL))


_LAST_FAILED = f"""
    SELECT runs.* FROM runs JOIN (
        SELECT MAX(id) AS newest FROM runs
        WHERE kind = ? AND started_at IS NOT NULL AND finished_at IS NOT NULL AND status <> 'cancelled'
        GROUP BY subject_id
    ) ON id = newest WHERE status IN ({", ".join(f"'{status}'" for status in sorted(FAILING))}) ORDER BY id
"""  # noqa: S608  # our own words


class ActiveRow(NamedTuple):
    """An active run of a subject."""

    subject_id: str
    id: str
    started_at: float
    is_cancelling: bool


class QueuedRow(NamedTuple):
    """A queued run, as far as its turn depends on it: a thousand may wait, and each end of a run looks at all."""

    id: str
    subject_id: str
    trigger: str
    snapshot: str | None  # as it is stored
    source: str


class RunGlimpse(NamedTuple):
    """How a run went, without what it did: a history has hundreds, and a whole record costs ten times as much."""

    id: str
    status: str
    queued_at: float
    started_at: float | None
    finished_at: float | None
    retry_of: str | None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status == RunStatus.SUCCEEDED

    @property
    def duration_ms(self) -> int | None:
        """The duration in milliseconds."""
        return milliseconds(self.started_at, self.finished_at)


def last_failed(connection: sqlite3.Connection, kind: str) -> list[Run]:
    """Return the newest run of each subject, but for those that were cancelled or never began, where it failed."""
    return [rows.run_of(row) for row in connection.execute(_LAST_FAILED, [kind])]


def enqueue(connection: sqlite3.Connection, run: Run) -> bool:
    """Record a run that is queued, or that ended unstarted; return False if its instant has run already.

    A record of the same instant that never ran is replaced: the clock was ahead, and was set back.
    """
    try:
        rows.insert(connection, run, "")
    except rows.InstantRecordedError:
        sql = "SELECT id FROM runs WHERE kind = ? AND subject_id = ? AND scheduled_for = ? AND status IN (?, ?)"
        found = connection.execute(sql, [run.kind, run.subject_id, run.scheduled_for, *_NEVER_RAN]).fetchone()
        if found is None:
            return False
        rows.forget(connection, [found["id"]])
        rows.insert(connection, run, "")
    return True


def queued(connection: sqlite3.Connection, kind: str) -> list[Run]:
    """Return the queued runs of a kind in the order in which they are due."""
    return [rows.run_of(row) for row in connection.execute(_QUEUED.format("*"), [RunStatus.QUEUED, kind])]


def waiting(connection: sqlite3.Connection, kind: str) -> list[QueuedRow]:
    """Return the queued runs of a kind in the order in which they are due."""
    sql = _QUEUED.format("id, subject_id, triggered_by, snapshot, source")
    return [QueuedRow(*row) for row in connection.execute(sql, [RunStatus.QUEUED, kind])]


def has_queued(connection: sqlite3.Connection, kind: str) -> bool:
    """Whether a run of a kind is queued."""
    sql = "SELECT 1 FROM runs WHERE status = ? AND kind = ? LIMIT 1"
    return connection.execute(sql, [RunStatus.QUEUED, kind]).fetchone() is not None


def active(connection: sqlite3.Connection, kind: str) -> list[ActiveRow]:
    """Return the runs of a kind that have begun and not ended."""
    sql = "SELECT subject_id, id, started_at, status FROM runs WHERE status IN (?, ?, ?) AND +kind = ?"
    found = connection.execute(sql, [*sorted(AT_WORK), kind])
    return [
        ActiveRow(row["subject_id"], row["id"], row["started_at"], row["status"] == RunStatus.CANCELLING)
        for row in found
    ]


def is_next(connection: sqlite3.Connection, run: Run) -> bool:
    """Whether no earlier run of the same subject is queued or at work, or the run is not queued any more."""
    # The plus keeps SQLite from going through all runs of the subject: few are active.
    sql = f"""
        SELECT 1 FROM runs WHERE status IN ({_ACTIVE}) AND +kind = :kind AND +subject_id = :subject AND id < :id
            AND EXISTS (SELECT 1 FROM runs WHERE id = :id AND status = :queued)
    """  # noqa: S608  # our own words
    values = {"kind": run.kind, "subject": run.subject_id, "id": run.id, "queued": RunStatus.QUEUED}
    return connection.execute(sql, values).fetchone() is None


def take(connection: sqlite3.Connection, run_id: str, owner: str, now: float) -> Run | None:
    """Let a queued run begin with `owner` and return it; None if it is not queued any more."""
    sql = "UPDATE runs SET status = ?, owner = ?, started_at = ? WHERE id = ? AND status = ? RETURNING *"
    row = connection.execute(sql, [RunStatus.RUNNING, owner, now, run_id, RunStatus.QUEUED]).fetchone()
    return None if row is None else rows.run_of(row)


def end_unstarted(connection: sqlite3.Connection, run_id: str, ended: RunResult, now: float) -> bool:
    """End a queued run as skipped or missed; return False if it is not queued any more."""
    sql = "UPDATE runs SET status = ?, reason = ?, finished_at = ? WHERE id = ? AND status = ?"
    values = [ended.status, ended.reason, now, run_id, RunStatus.QUEUED]
    return connection.execute(sql, values).rowcount == 1


def catch_up(connection: sqlite3.Connection, run_id: str) -> None:
    """Note that a queued run is started late."""
    connection.execute("UPDATE runs SET triggered_by = ? WHERE id = ?", [RunTrigger.CATCHUP, run_id])


def note_delivery(connection: sqlite3.Connection, run_id: str, delivery: OutputDelivery) -> None:
    """Record how far the messages with the output of a run came."""
    columns = rows.delivery_columns(delivery)
    sets = ", ".join(f"{name} = :{name}" for name in columns)
    connection.execute(f"UPDATE runs SET {sets} WHERE id = :id", {**columns, "id": run_id})  # noqa: S608  # our own names


def glimpses(connection: sqlite3.Connection, kind: str, subject: str, limit: int) -> list[RunGlimpse]:
    """Return the newest runs of a subject, also those that never started."""
    sql = f"SELECT {', '.join(RunGlimpse._fields)} FROM runs WHERE kind = ? AND subject_id = ? ORDER BY id DESC LIMIT ?"  # noqa: S608  # our own names
    return [RunGlimpse(*row) for row in connection.execute(sql, [kind, subject, limit])]


def last(connection: sqlite3.Connection, kind: str, subject: str) -> Run | None:
    """Return the newest run of a subject, also one that never started."""
    sql = "SELECT * FROM runs WHERE kind = ? AND subject_id = ? ORDER BY id DESC LIMIT 1"
    row = connection.execute(sql, [kind, subject]).fetchone()
    return None if row is None else rows.run_of(row)


def last_before(connection: sqlite3.Connection, run: Run) -> Run | None:
    """Return the newest run of the same subject before this one that ran and was not cancelled."""
    sql = f"""
        SELECT * FROM runs WHERE kind = ? AND subject_id = ? AND id < ? AND started_at IS NOT NULL
            AND status IN ({_ENDED}) AND status <> ? ORDER BY id DESC LIMIT 1
    """  # noqa: S608  # our own words
    values = [run.kind, run.subject_id, run.id, RunStatus.CANCELLED]
    row = connection.execute(sql, values).fetchone()
    return None if row is None else rows.run_of(row)


def newest(connection: sqlite3.Connection, kind: str, subject: str, limit: int, before: str = "") -> list[Run]:
    """Return the newest runs of a subject that ran and have ended; with `before`, those older than that run."""
    sql = f"""
        SELECT * FROM runs WHERE kind = ? AND subject_id = ? AND status IN ({_ENDED}) AND started_at IS NOT NULL
            AND (id < ? OR ? = '')
        ORDER BY id DESC LIMIT ?
    """  # noqa: S608  # our own words
    return [rows.run_of(row) for row in connection.execute(sql, [kind, subject, before, before, limit])]
