"""The description of a run in audit entries and messages."""

from socket import gethostname

from tocsin.runs.model import Run


def audit_facts(run: Run) -> dict[str, object]:
    """Return the facts that the audit entry of every ended run contains."""
    return {
        "run": run.id,
        "trigger": str(run.trigger),
        "actor": run.actor,
        "status": str(run.status),
        "ok": run.ok,
        "duration_ms": run.duration_ms,
    }


def pointers(run_id: str) -> str:
    """Return the last lines of a message about a failed run: the run, the host, and commands for it."""
    shows = f"`tocsin runs log {run_id}` shows its output, `tocsin runs retry {run_id}` runs it again"
    return f"run {run_id} on {gethostname()}\n{shows}"
