"""The description of a run in audit entries and messages."""

from collections.abc import Mapping
from socket import gethostname
from typing import Any

from tocsin.runs.model import CUT_OFF, Run


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


def writes_own_entry(run: Run, request: Mapping[str, Any]) -> bool:
    """Whether a run has an audit entry of its own; `request` is `RunSpec.request`.

    If `audited` is false in it, the caller writes one entry about the run. A caller that is not a run cannot be relied
    on for a run that was cancelled or interrupted: it may have ended with the run.
    """
    return bool(request.get("audited", True)) or (run.parent_run_id is None and run.status in CUT_OFF)


def pointers(run_id: str) -> str:
    """Return the last lines of a message about a failed run: the run, the host, and commands for it."""
    shows = f"`tocsin runs log {run_id}` shows its output, `tocsin runs retry {run_id}` runs it again"
    return f"run {run_id} on {gethostname()}\n{shows}"
