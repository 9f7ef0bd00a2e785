"""What audit entries and messages say of a run."""

from socket import gethostname

from tocsin.runs.model import Run


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
