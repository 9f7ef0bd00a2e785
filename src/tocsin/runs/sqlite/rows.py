"""Convert runs, steps, hosts, questions and tasks to and from rows."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tocsin.runs.columns import (
    part_kind,
    part_name,
    read_part,
    read_record,
    read_task,
    read_wait,
    write_part,
    write_record,
    write_task,
    write_wait,
)
from tocsin.runs.model import HostResult, Run, RunStatus, StepRun
from tocsin.runs.stored_run import StepWait, StoredRun, instant_taken_error, unknown_run


def insert(connection: sqlite3.Connection, record: StoredRun) -> None:
    """Insert a run with everything that belongs to it; raises InstantRecordedError."""
    row = write_record(record)
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    try:
        connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names
    except sqlite3.IntegrityError as error:
        if "runs.scheduled_for" not in str(error):
            raise
        raise instant_taken_error(record.run) from None
    put_parts(connection, record.run.id, record.run.steps)
    put_parts(connection, record.run.id, record.run.hosts)
    _put_task(connection, record)
    _put_waits(connection, record, ())


def update(connection: sqlite3.Connection, before: StoredRun, after: StoredRun) -> None:
    """Write only the columns that differ, because the change feed reports every column that is written."""
    same = replace(before, task=after.task, waits=after.waits) == after
    old, new = ({}, {}) if same else (write_record(before), write_record(after))
    changed = {name: value for name, value in new.items() if value != old[name]}
    if changed:
        sets = ", ".join(f"{name} = :{name}" for name in changed)
        connection.execute(f"UPDATE runs SET {sets} WHERE id = :id", {**changed, "id": after.run.id})  # noqa: S608  # our own names
    put_parts(connection, after.run.id, [s for s in after.run.steps if s not in before.run.steps])
    put_parts(connection, after.run.id, [h for h in after.run.hosts if h not in before.run.hosts])
    if after.task != before.task:
        _put_task(connection, after)
    if after.waits != before.waits:
        _put_waits(connection, after, before.waits)


def find_status(connection: sqlite3.Connection, run_id: str) -> RunStatus:
    """Return the state of a run; raises UnknownRunError."""
    row = connection.execute("SELECT status FROM runs WHERE id = ?", [run_id]).fetchone()
    if row is None:
        raise unknown_run(run_id)
    return RunStatus(row["status"])


def find(connection: sqlite3.Connection, run_id: str, *, parts: bool) -> StoredRun:
    """Return a run; raises UnknownRunError."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
    if row is None:
        raise unknown_run(run_id)
    (record,) = read_records(connection, [row])
    return replace(record, run=with_parts(connection, [record.run])[0]) if parts else record


def read_records(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> list[StoredRun]:
    """Return the records of rows of runs, without steps and hosts."""
    ids = json.dumps([row["id"] for row in rows])
    found = connection.execute("SELECT * FROM run_tasks WHERE run_id IN (SELECT value FROM json_each(?))", [ids])
    tasks = {row["run_id"]: read_task(row) for row in found}
    waits: dict[str, list[StepWait]] = {}
    for row in connection.execute("SELECT * FROM run_waits WHERE run_id IN (SELECT value FROM json_each(?))", [ids]):
        waits.setdefault(row["run_id"], []).append(read_wait(row))
    return [read_record(row, tasks.get(row["id"]), waits.get(row["id"], ())) for row in rows]


def put_parts(connection: sqlite3.Connection, run_id: str, records: Sequence[StepRun] | Sequence[HostResult]) -> None:
    """Store steps or hosts; one with a known name replaces the earlier record and keeps its position."""
    connection.executemany(
        _PUT_PART,
        [
            {
                "run": run_id,
                "part": part_kind(record),
                "name": part_name(record),
                "record": write_part(record),
            }
            for record in records
        ],
    )


def with_parts(connection: sqlite3.Connection, runs: Sequence[Run]) -> list[Run]:
    """Return the runs with their steps and hosts."""
    marks = ", ".join("?" * len(runs))
    sql = f"SELECT * FROM run_parts WHERE run_id IN ({marks}) ORDER BY position"  # noqa: S608  # marks only
    found: dict[str, list[StepRun | HostResult]] = {}
    for row in connection.execute(sql, [run.id for run in runs]):
        found.setdefault(row["run_id"], []).append(read_part(row["part"], row["record"]))
    return [run.with_parts(found.get(run.id, ())) for run in runs]


def forget(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Delete runs and everything that belongs to them."""
    ids = [[run_id] for run_id in run_ids]
    for sql in _FORGET:
        connection.executemany(sql, ids)


_PUT_PART = """
    INSERT INTO run_parts VALUES (:run, :part, :name,
        (SELECT COUNT(*) FROM run_parts WHERE run_id = :run AND part = :part), :record)
    ON CONFLICT (run_id, part, name) DO UPDATE SET record = excluded.record
"""
_PUT_TASK = """
    INSERT OR REPLACE INTO run_tasks (run_id, request, caller, not_before, noted, noted_at)
    VALUES (:run_id, :request, :caller, :not_before, :noted, :noted_at)
"""
_PUT_WAIT = """
    INSERT OR REPLACE INTO run_waits (run_id, step, message, approvers, since, question, asked_in, not_by_starter,
        approved, decided_by, decided_at, comment)
    VALUES (:run_id, :step, :message, :approvers, :since, :question, :asked_in, :not_by_starter,
        :approved, :decided_by, :decided_at, :comment)
"""
_FORGET = (
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM run_parts WHERE run_id = ?",
    "DELETE FROM run_waits WHERE run_id = ?",
    "DELETE FROM run_tasks WHERE run_id = ?",
)


def _put_task(connection: sqlite3.Connection, record: StoredRun) -> None:
    task = record.task
    if task is None:
        connection.execute("DELETE FROM run_tasks WHERE run_id = ?", [record.run.id])
        return
    connection.execute(_PUT_TASK, {**write_task(task), "run_id": record.run.id})


def _put_waits(connection: sqlite3.Connection, record: StoredRun, before: Sequence[StepWait]) -> None:
    run_id, kept = record.run.id, {wait.question.step for wait in record.waits}
    gone = [(run_id, wait.question.step) for wait in before if wait.question.step not in kept]
    connection.executemany("DELETE FROM run_waits WHERE run_id = ? AND step = ?", gone)
    connection.executemany(_PUT_WAIT, [write_wait(run_id, wait) for wait in record.waits if wait not in before])
