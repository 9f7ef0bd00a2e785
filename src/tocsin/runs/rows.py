"""Runs, their steps and hosts as rows of the database."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from tocsin.channels.contract import SendResult
from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.runs.model import (
    ACTIVE,
    HostResult,
    HostStatus,
    OutputDelivery,
    OutputDeliveryStatus,
    OutputResult,
    Run,
    RunOutput,
    RunStatus,
    StepRun,
)

Part = Literal["step", "host"]


class UnknownRunError(TocsinError):
    """No run has this ID, or it was deleted."""

    code = "not-found"


def unknown_run(text: str) -> UnknownRunError:
    """Return the error about an ID that no run has."""
    return UnknownRunError(f"there is no run {text[:60]}", hint="`tocsin runs list` shows those there are")


class InstantRecordedError(TocsinError):
    """The scheduled instant of this subject has its run already."""

    code = "conflict"


def insert(connection: sqlite3.Connection, run: Run, owner: str) -> None:
    """Record a new run and its owner; for use inside a transaction. Raises InstantRecordedError."""
    row = {**_row_of(run), "owner": owner}
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    try:
        connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names
    except sqlite3.IntegrityError as error:
        if "runs.scheduled_for" not in str(error):
            raise
        raise InstantRecordedError(f"{run.subject_name}: this instant has been recorded already") from None
    put_parts(connection, run.id, "step", run.steps)
    put_parts(connection, run.id, "host", run.hosts)


def find_row(connection: sqlite3.Connection, run_id: str) -> sqlite3.Row:
    """Return the row of a run; raises UnknownRunError."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM runs WHERE id = ?", [run_id]).fetchone()
    if row is None:
        raise unknown_run(run_id)
    return row


def find(connection: sqlite3.Connection, run_id: str) -> Run:
    """Return a run with its steps and hosts; raises UnknownRunError."""
    return with_parts(connection, [run_of(find_row(connection, run_id))])[0]


def put_parts(
    connection: sqlite3.Connection, run_id: str, part: Part, records: Sequence[StepRun] | Sequence[HostResult]
) -> None:
    """Record steps or hosts; one of a known name replaces the earlier record and keeps its place."""
    connection.executemany(
        _PUT_PART,
        [
            {"run": run_id, "part": part, "name": _name(record), "record": json.dumps(_fields(record), default=str)}
            for record in records
        ],
    )


def with_parts(connection: sqlite3.Connection, runs: Sequence[Run]) -> list[Run]:
    """Return the runs with their steps and hosts."""
    marks = ", ".join("?" * len(runs))
    sql = f"SELECT * FROM run_parts WHERE run_id IN ({marks}) ORDER BY position"  # noqa: S608  # marks only
    steps: dict[str, list[StepRun]] = {}
    hosts: dict[str, list[HostResult]] = {}
    for row in connection.execute(sql, [run.id for run in runs]):
        record = json.loads(row["record"])
        if row["part"] == "step":
            steps.setdefault(row["run_id"], []).append(StepRun(**{**record, "status": RunStatus(record["status"])}))
        else:
            hosts.setdefault(row["run_id"], []).append(HostResult(**{**record, "status": HostStatus(record["status"])}))
    return [replace(run, steps=tuple(steps.get(run.id, ())), hosts=tuple(hosts.get(run.id, ()))) for run in runs]


def end_parts(connection: sqlite3.Connection, run: Run, status: RunStatus, now: float) -> None:
    """End the steps and hosts that a run leaves unfinished, as the run ended: none of them stays at work."""
    open_steps = [step for step in run.steps if step.status in ACTIVE]
    put_parts(connection, run.id, "step", [_ended_step(step, status, now) for step in open_steps])
    open_hosts = [host for host in run.hosts if host.status in {HostStatus.QUEUED, HostStatus.RUNNING}]
    put_parts(connection, run.id, "host", [_ended_host(host, status) for host in open_hosts])
    connection.execute("DELETE FROM run_waits WHERE run_id = ?", [run.id])


def forget(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Delete runs and everything that belongs to them."""
    ids = [[run_id] for run_id in run_ids]
    for sql in _FORGET:
        connection.executemany(sql, ids)


def run_of(row: sqlite3.Row) -> Run:
    """Return the run of a row, without steps and hosts."""
    return Run(
        id=row["id"],
        kind=row["kind"],
        subject_id=row["subject_id"],
        subject_name=row["subject_name"],
        trigger=row["triggered_by"],
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
        delivery=OutputDelivery(
            OutputDeliveryStatus(row["delivery_status"]),
            tuple(map(_result_of, json.loads(row["delivery_results"]))),
            tuple(json.loads(row["delivery_queued"])),
        ),
        error=_read(row["error"]),
        snapshot=_read(row["snapshot"]),
        history_limit=row["history_limit"],
        history_days=row["history_days"],
        source=row["source"],
    )


def _result_of(kept: dict[str, Any]) -> OutputResult:
    delivery_id = kept.pop("delivery_id", None)
    return OutputResult(SendResult(**kept), delivery_id or "")


def delivery_columns(delivery: OutputDelivery) -> dict[str, Any]:
    """Return the columns of a delivery."""
    return {
        "delivery_status": delivery.status,
        "delivery_results": json.dumps(to_json(delivery)["results"]),
        "delivery_queued": json.dumps(delivery.queued),
    }


def written(value: Mapping[str, Any] | None) -> str | None:
    """Return a mapping as its column has it."""
    return None if value is None else json.dumps(dict(value), default=str)


_PUT_PART = """
    INSERT INTO run_parts VALUES (:run, :part, :name,
        (SELECT COUNT(*) FROM run_parts WHERE run_id = :run AND part = :part), :record)
    ON CONFLICT (run_id, part, name) DO UPDATE SET record = excluded.record
"""
_FORGET = (
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM run_parts WHERE run_id = ?",
    "DELETE FROM run_waits WHERE run_id = ?",
    "DELETE FROM run_tasks WHERE run_id = ?",
)


def _row_of(run: Run) -> dict[str, Any]:
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
        "params": written(run.params),
        "env_keys": json.dumps(run.env_keys),
        "error": written(run.error),
        "snapshot": written(run.snapshot),
        "history_limit": run.history_limit,
        "history_days": run.history_days,
        "source": run.source,
        **delivery_columns(run.delivery),
    }


def _name(record: StepRun | HostResult) -> str:
    return record.name if isinstance(record, StepRun) else record.host


def _fields(record: StepRun | HostResult) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


_SENTENCES = {
    RunStatus.INTERRUPTED: "Tocsin was killed or crashed while it ran",
    RunStatus.CANCELLED: "the run was cancelled",
    RunStatus.TIMED_OUT: "the run was out of time",
}


def _ended_step(step: StepRun, status: RunStatus, now: float) -> StepRun:
    if step.status is RunStatus.QUEUED:
        return replace(step, status=RunStatus.SKIPPED)
    ended = status if status in _SENTENCES else RunStatus.FAILED
    sentence = _SENTENCES.get(ended, "the run ended before it did")
    return replace(step, status=ended, finished_at=now, error={"code": str(ended), "message": sentence})


def _ended_host(host: HostResult, status: RunStatus) -> HostResult:
    if host.status is HostStatus.QUEUED:
        return replace(host, status=HostStatus.SKIPPED)
    ended = {RunStatus.CANCELLED: HostStatus.CANCELLED, RunStatus.TIMED_OUT: HostStatus.TIMED_OUT}
    sentence = _SENTENCES.get(status, "the run ended before it did")
    return replace(host, status=ended.get(status, HostStatus.FAILED), error=sentence)
