"""Convert runs to and from columns of plain values: the rows of the database, and the documents of runs in Redis."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tocsin.channels.contract import SendResult
from tocsin.core.records.as_json import to_json
from tocsin.runs.approvals import Decision, StepQuestion
from tocsin.runs.model import (
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
from tocsin.runs.stored_run import RunTask, StepWait, StoredRun

_PLAIN = (  # fields of a run whose columns have their names and values
    "id", "kind", "subject_id", "subject_name", "queued_at", "actor", "reason", "attempt", "max_attempts", "retry_of",
    "parent_run_id", "scheduled_for", "started_at", "finished_at", "exit_code", "signal", "history_limit",
    "history_days", "source",
)  # fmt: skip


class Row(Protocol):
    """A row of a database, or a dictionary."""

    def __getitem__(self, name: str, /) -> Any:
        """Return the value of a column."""


def read_run(row: Row) -> Run:
    """Return the run of a row, without its steps and hosts."""
    return Run(
        **{name: row[name] for name in _PLAIN},
        trigger=row["triggered_by"],
        status=RunStatus(row["status"]),
        dry_run=bool(row["dry_run"]),
        params=json.loads(row["params"]),
        env_keys=tuple(json.loads(row["env_keys"])),
        output=RunOutput(row["output_bytes"], row["output_lines"], bool(row["output_truncated"]), row["output_tail"]),
        delivery=OutputDelivery(
            OutputDeliveryStatus(row["delivery_status"]),
            tuple(map(_read_result, json.loads(row["delivery_results"]))),
            tuple(json.loads(row["delivery_queued"])),
        ),
        error=_read(row["error"]),
        snapshot=_read(row["snapshot"]),
    )


def _read_result(kept: dict[str, Any]) -> OutputResult:
    delivery_id = kept.pop("delivery_id", None)
    return OutputResult(SendResult(**kept), delivery_id or "")


def _write_delivery(delivery: OutputDelivery) -> dict[str, Any]:
    return {
        "delivery_status": delivery.status,
        "delivery_results": json.dumps(to_json(delivery)["results"]),
        "delivery_queued": json.dumps(delivery.queued),
    }


def write_mapping(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(dict(value), default=str)


def write_record(record: StoredRun) -> dict[str, Any]:
    """Return a record as columns, without its steps, hosts, task and questions."""
    run = record.run
    return {
        **{name: getattr(run, name) for name in _PLAIN},
        "triggered_by": run.trigger,
        "status": run.status,
        "dry_run": run.dry_run,
        "params": write_mapping(run.params),
        "env_keys": json.dumps(run.env_keys),
        "error": write_mapping(run.error),
        "snapshot": write_mapping(run.snapshot),
        "output_bytes": run.output.bytes,
        "output_lines": run.output.lines,
        "output_truncated": run.output.truncated,
        "output_tail": run.output.tail,
        **_write_delivery(run.delivery),
        "owner": record.owner,
        "child": record.child,
        "cancel_reason": record.cancel_reason,
        "cancel_grace_s": record.cancel_grace_s,
    }


def part_kind(part: StepRun | HostResult) -> str:
    return "step" if isinstance(part, StepRun) else "host"


def part_name(part: StepRun | HostResult) -> str:
    """Return the name of a step or host, which is unique within the run."""
    return part.name if isinstance(part, StepRun) else part.host


def write_part(part: StepRun | HostResult) -> str:
    return json.dumps({name: getattr(part, name) for name in part.__slots__}, default=str)


def read_part(kind: str, text: str) -> StepRun | HostResult:
    """Return the step or host that `write_part` encoded."""
    found = json.loads(text)
    if kind == "step":
        return StepRun(**{**found, "status": RunStatus(found["status"])})
    return HostResult(**{**found, "status": HostStatus(found["status"])})


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def read_record(row: Row, task: RunTask | None, waits: Iterable[StepWait]) -> StoredRun:
    """Return the record of a row, without its steps and hosts."""
    owner, child, reason, grace_s = row["owner"], row["child"], row["cancel_reason"], row["cancel_grace_s"]
    return StoredRun(read_run(row), owner, child, reason, grace_s, task, tuple(waits))


def write_task(task: RunTask) -> dict[str, Any]:
    return {
        "request": write_mapping(task.request),
        "caller": write_mapping(task.caller),
        "not_before": task.not_before,
        "noted": write_mapping(task.noted),
        "noted_at": task.noted_at,
    }


def read_task(row: Row) -> RunTask:
    """Return the task that `write_task` encoded."""
    return RunTask(
        json.loads(row["request"]), json.loads(row["caller"]), row["not_before"], _read(row["noted"]), row["noted_at"]
    )


def write_wait(run_id: str, wait: StepWait) -> dict[str, Any]:
    asks, decision = wait.question, wait.decision
    return {
        "run_id": run_id,
        "step": asks.step,
        "message": asks.message,
        "approvers": json.dumps(asks.approvers),
        "since": wait.since,
        "question": asks.id,
        "asked_in": json.dumps(asks.asked_in),
        "not_by_starter": asks.not_by_starter,
        "approved": decision.approved if decision else None,
        "decided_by": decision.by if decision else None,
        "decided_at": decision.at if decision else None,
        "comment": decision.comment if decision else "",
    }


def read_wait(row: Row) -> StepWait:
    """Return the question that `write_wait` encoded."""
    question = StepQuestion(
        row["step"],
        row["message"],
        tuple(json.loads(row["approvers"])),
        tuple(json.loads(row["asked_in"])),
        bool(row["not_by_starter"]),
        row["question"],
    )
    if row["approved"] is None:
        return StepWait(question, row["since"])
    by, at, comment = row["decided_by"], row["decided_at"], row["comment"]
    return StepWait(
        question, row["since"], Decision(row["run_id"], row["step"], bool(row["approved"]), by, at, comment)
    )
