"""The public form of a run: in the HTTP interface and with `--json`."""

from dataclasses import asdict
from socket import gethostname

from tocsin.core.time.timestamps import timestamp
from tocsin.runs.log_file import LogPage
from tocsin.runs.model import Run, StepRun


def as_document(run: Run) -> dict[str, object]:
    """Return the record as a dictionary; times are RFC 3339 in UTC with milliseconds."""
    return {
        "id": run.id,
        "kind": str(run.kind),
        "subject_id": run.subject_id,
        "subject_name": run.subject_name,
        "trigger": str(run.trigger),
        "actor": run.actor,
        "status": str(run.status),
        "reason": run.reason,
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "retry_of": run.retry_of,
        "parent_run_id": run.parent_run_id,
        "scheduled_for": timestamp(run.scheduled_for),
        "queued_at": timestamp(run.queued_at),
        "started_at": timestamp(run.started_at),
        "finished_at": timestamp(run.finished_at),
        "duration_ms": run.duration_ms,
        "delay_ms": run.delay_ms,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "dry_run": run.dry_run,
        "params": dict(run.params),
        "env_keys": list(run.env_keys),
        "output": asdict(run.output),
        "delivery": {
            "status": str(run.delivery.status),
            "results": [result.as_dict() for result in run.delivery.results],
        },
        "steps": [step_document(step) for step in run.steps],
        "hosts": [{**asdict(host), "status": str(host.status)} for host in run.hosts],
        "error": None if run.error is None else dict(run.error),
    }


def summary_document(run: Run) -> dict[str, object]:
    """Return the record without its steps and hosts, as lists show it."""
    return {name: value for name, value in as_document(run).items() if name not in {"steps", "hosts"}}


def audit_facts(run: Run) -> dict[str, object]:
    """Return what the audit entry of every run that has ended says of it."""
    return {
        "run": run.id,
        "trigger": str(run.trigger),
        "actor": run.actor,
        "status": str(run.status),
        "ok": run.ok,
        "duration_ms": run.duration_ms,
    }


def pointers(run_id: str) -> str:
    """Return what a message about a failed run ends with: the host, the run and the commands for it."""
    shows = f"`tocsin runs log {run_id}` shows its output, `tocsin runs retry {run_id}` runs it again"
    return f"run {run_id} on {gethostname()}\n{shows}"


def step_document(step: StepRun) -> dict[str, object]:
    """Return the record of a step as a dictionary."""
    return {
        "name": step.name,
        "type": step.type,
        "status": str(step.status),
        "attempt": step.attempt,
        "started_at": timestamp(step.started_at),
        "finished_at": timestamp(step.finished_at),
        "duration_ms": step.duration_ms,
        "exit_code": step.exit_code,
        "when": step.when,
        "error": None if step.error is None else dict(step.error),
        "outputs": dict(step.outputs),
        "message": step.message,
    }


def log_document(page: LogPage) -> dict[str, object]:
    """Return a page of a log as a dictionary."""
    lines = [{"n": line.n, "ts": timestamp(line.ts), "stream": line.stream, "text": line.text} for line in page.lines]
    return {
        "lines": lines,
        "next_line": page.next_line,
        "complete": page.complete,
        "truncated": page.truncated,
    }
