"""What the engine asks about checks of folders."""

from collections.abc import Mapping
from typing import Any

from tocsin.features.abilities import Notices
from tocsin.features.context import Notice, NoticeLevel
from tocsin.runs.document import audit_facts
from tocsin.runs.engine.run_type import RunAuditEntry, RunType
from tocsin.runs.model import FAILING, Run
from tocsin_freshness.feature import CHECK, FRESHNESS


class FreshnessRuns(RunType):
    """Checks of folders: each is an entry of the audit log, and the operator hears of one that failed."""

    kind = "freshness"
    source = FRESHNESS.name

    def __init__(self, notices: Notices) -> None:
        self._notices = notices

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Return the reason of a failure for the notice, stored until that is sent."""
        return {"reason": run.reason or str(run.status)} if run.status in FAILING else {}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the entry of an ended check."""
        return RunAuditEntry(CHECK, f"{run.subject_name} {run.status}", {"folder": run.subject_id, **audit_facts(run)})

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        """Notify the operator of a check that failed."""
        if reason := noted.get("reason"):
            title = f"No fresh backup in {run.subject_name}"
            key = f"freshness:{run.subject_id}"
            await self._notices.notify(
                Notice(title, reason, NoticeLevel.ERROR, "freshness", self.source, f"#/runs/{run.id}", key)
            )
