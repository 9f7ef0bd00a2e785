"""The workflows of a data directory as the rest of the program uses them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tocsin.core.lazy import Lazy
from tocsin.core.text.strings import number_of
from tocsin.features.context import (
    AttentionItem,
    FeatureContext,
    NoticeLevel,
    ProfileUse,
    SubsystemState,
    SubsystemStatus,
)
from tocsin.features.hooks import FeatureHooks
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.features.workflows.service import Workflows
from tocsin.features.workflows.store import WorkflowFolder
from tocsin.runs.model import Run, RunStatus

# The engine takes as long to import as all the rest: it is, when a workflow runs.
if TYPE_CHECKING:
    from tocsin.features.workflows.engine.steps import WorkflowSteps
    from tocsin.runs.control import StartRequest
    from tocsin.runs.engine.active_run import ActiveRun

FOLDER = "workflows"


def open_workflows(context: FeatureContext) -> Workflows:
    """Return the workflows of the data directory."""
    steps = Lazy(lambda: _steps(context), lambda steps: steps.aclose())
    return Workflows(WorkflowFolder(context.data_dir / FOLDER), context, steps)


def _steps(context: FeatureContext) -> "WorkflowSteps":
    from tocsin.features.workflows.engine.steps import WorkflowSteps

    return WorkflowSteps(context)


async def start_workflow(workflows: Workflows, name: str, asked: "StartRequest") -> "ActiveRun":
    """Start a workflow; `asked.params` are its parameters."""
    request = WorkflowRequest(
        asked.cause,
        asked.source,
        asked.actor,
        params=asked.params,
        offers=asked.offers,
        from_step=asked.retry.from_step if asked.retry else "",
        retry=asked.retry,
        parent_run_id=asked.parent_run_id,
        run_id=asked.run_id,
    )
    return await workflows.start(name, request)


async def list_workflows(workflows: Workflows) -> Sequence[str]:
    """Return the names of all workflows, valid or not."""
    return workflows.names()


async def check_subsystem(workflows: Workflows) -> SubsystemStatus:
    """Return the state of workflows: their number, and those that have errors, fail or wait."""
    found, waiting = await workflows.all(), await workflows.waiting()
    names = {file.name for file in found}
    failed = [run for run in await workflows.failing() if run.subject_id in names]
    broken = sum(not file.valid for file in found)
    said = (number_of(len(found), "workflow") if found else "no workflows") + (
        f", {broken} with errors" if broken else ""
    )
    said += f", {len(failed)} failing" if failed else ""
    said += f", {len(waiting)} waiting for approval" if waiting else ""
    told = f"{number_of(broken, 'workflow')} with errors: `tocsin workflows list` shows them"
    return SubsystemStatus(
        SubsystemState.DEGRADED if broken or failed else SubsystemState.OK if found else SubsystemState.UNCONFIGURED,
        said,
        {"workflows": len(found), "broken": broken, "failing": len(failed), "waiting": len(waiting)},
        attention=[
            *([AttentionItem(NoticeLevel.WARNING, told, "#/workflows")] if broken else []),
            *(AttentionItem(NoticeLevel.ERROR, _failed(run), f"#/runs/{run.id}") for run in failed),
            *(AttentionItem(NoticeLevel.WARNING, asked_by(run), f"#/runs/{run.id}") for run in waiting),
        ],
    )


def _failed(run: Run) -> str:
    return f"the last run of workflow {run.subject_name} failed: `tocsin runs show {run.id}`"


def asked_by(run: Run) -> str:
    """Return the question of a waiting run."""
    asked = " · ".join(step.message for step in run.steps if step.status is RunStatus.WAITING and step.message)
    return f"workflow {run.subject_name} waits for approval" + (f": {asked}" if asked else "")


async def profile_uses(workflows: Workflows) -> list[ProfileUse]:
    """Return the workflows that tell a profile how they ended."""
    valid = [(file.name, file.read.workflow) for file in await workflows.all() if file.read.workflow]
    return [ProfileUse(each.notify_profile, "workflow", name) for name, each in valid if each.notify_profile]


HOOKS = FeatureHooks[Workflows](
    open=open_workflows,
    subsystems={"workflows": check_subsystem},
    starts={"workflow": start_workflow},
    subjects={"workflow": list_workflows},
    profile_uses=profile_uses,
)
