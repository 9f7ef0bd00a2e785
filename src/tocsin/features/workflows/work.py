"""Hooks of workflows: their kind of run, and the handler of approval buttons."""

from collections.abc import Mapping
from typing import Any

from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns, stored_notice
from tocsin.features.workflows.engine.approval_buttons import ApprovalButtons
from tocsin.features.workflows.feature import WORKFLOW_RUN
from tocsin.features.workflows.service import Workflows
from tocsin.features.workflows.summary import is_wanted, notice_of, summary
from tocsin.runs.control import RunControl
from tocsin.runs.document import audit_facts
from tocsin.runs.engine.run_type import RunAuditEntry, RunMessage, RunType
from tocsin.runs.model import Run
from tocsin.runs.recorder import Work


class WorkflowRuns(NotifyingRuns, RunType):
    """Runs of workflows: any process continues one that waits, is queued or was cut off."""

    kind = "workflow"
    source = CLI.name

    def __init__(self, workflows: Workflows) -> None:
        super().__init__(workflows.context.abilities.notices)
        self._workflows = workflows
        self._context = workflows.context

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether the request of the run is stored; earlier versions did not store it."""
        return bool(request)

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work of the steps that are left; see `LeftSteps`."""
        return await self._workflows.resume(run, request)

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the summary, if `notify_on` requires one."""
        profile = str(request.get("notify_profile") or "")
        if not profile or run.started_at is None or run.dry_run:
            return None
        before = await self._context.runs().store.last_before(run)
        if not is_wanted(request["notify_on"], run.status, before):
            return None
        text, address = self._context.redact(summary(run)), self._context.settings[PUBLIC_URL]
        return RunMessage.about(run, profile, text, run.source or self.source, address)

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Return the notice about the first failure, or about the first success after one."""
        if run.started_at is None:
            return {}
        before = await self._context.runs().store.last_before(run)
        said = self._context.redact(summary(run))
        return stored_notice(notice_of(run, before, self._context.clock.now(), said=said, output=output))

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry:
        facts = {
            "workflow": run.subject_id,
            **audit_facts(run),
            **({"retry_of": run.retry_of} if run.retry_of else {}),
            **({"parent": run.parent_run_id} if run.parent_run_id else {}),
        }
        return RunAuditEntry(WORKFLOW_RUN, f"{run.subject_name} {run.status}", facts)


def approval_buttons_of(workflows: Workflows) -> ApprovalButtons:
    """Return the handler of the buttons of waiting steps."""
    context = workflows.context
    return ApprovalButtons(
        RunControl(context.runs(), context.audit, context.clock, context.abilities.run_starter.start)
    )


WORK = WorkHooks[Workflows](
    handlers=(approval_buttons_of,),
    run_types={"workflow": WorkflowRuns},
)
