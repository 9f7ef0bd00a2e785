"""Prepare a run of a workflow: its parameters, variables, secrets and left-out steps."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tocsin.core.expressions.template import Placeholder, Template
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import FeatureContext
from tocsin.features.workflows.engine.plan import PlanSurroundings, plan
from tocsin.features.workflows.engine.runner import WorkflowRunner
from tocsin.features.workflows.engine.step_call import Execute
from tocsin.features.workflows.engine.values import RunValues, StepScope
from tocsin.features.workflows.engine.waiting import question_of
from tocsin.features.workflows.language.graph import ancestors, descendants
from tocsin.features.workflows.language.model import Workflow, WorkflowStep
from tocsin.features.workflows.requests import InvalidRunError, PlannedStep, WorkflowRequest, stored_request
from tocsin.features.workflows.store import WorkflowFile
from tocsin.runs.approvals import NotApproverError, refuse_others
from tocsin.runs.control import Retry, as_retry
from tocsin.runs.model import Run, RunResult, RunSpec, RunStatus, StepRun
from tocsin.runs.recorder import RunHandle, Work

_STORE_IT = "tocsin vault set NAME"


class PreparedRun(NamedTuple):
    """A run that is about to start."""

    order: RunSpec
    work: Work


class RunBuilder:
    """Prepares runs; nothing of them is recorded or executed yet."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context

    def plan(
        self,
        workflow: Workflow,
        params: Mapping[str, Any],
        request: WorkflowRequest,
        children: Mapping[str, Workflow | str],
    ) -> tuple[PlannedStep, ...]:
        """Return the steps of a run; `children` are the workflows that it starts, or why one cannot be run."""
        values = self.values(workflow, params, request, {})
        values.steps.update(left_out(workflow, request))
        around = PlanSurroundings(self.folder_of(workflow), self._context.environment().get("PATH"), children)
        return plan(workflow, values, around, self._context.redact)

    async def prepare(
        self,
        file: WorkflowFile,
        params: Mapping[str, Any],
        request: WorkflowRequest,
        execute: Execute,
        continued: Run | None = None,
    ) -> PreparedRun:
        """Return a run; reads the secrets that it needs. `continued` is one that another process has begun."""
        workflow = file.workflow()
        secrets = await self._reveal(workflow)
        redact = self._context.redact
        kept = left_out(workflow, request) if continued is None else {}
        order = RunSpec(
            "workflow",
            workflow.name,
            workflow.name,
            request.trigger,
            request.actor,
            params={name: redact(value) if isinstance(value, str) else value for name, value in params.items()},
            env_keys=tuple(sorted({*workflow.env, *request.env})),
            parent_run_id=request.parent_run_id,
            scheduled_for=request.scheduled_for,
            snapshot={"sha256": file.digest, "yaml": redact(file.content.decode(errors="replace"))},
            source=request.source,
            request=stored_request(replace(request, params=params, offers={}), workflow, redact),
            id=request.run_id,
        )

        async def work(handle: RunHandle) -> RunResult:
            values = self.values(workflow, params, request, secrets, handle.run_id, continued)
            runner = WorkflowRunner(
                workflow,
                values,
                handle,
                execute=execute,
                clock=self._context.clock,
                folder=self.folder_of(workflow),
                environment={**self._context.environment(), **_told(values)},
                redact=redact,
                kept=kept,
                continued=continued,
            )
            return await runner.run()

        return PreparedRun(as_retry(order, request.retry), work)

    async def _reveal(self, workflow: Workflow) -> Mapping[str, str]:
        names = secrets_of(workflow)
        if not names:
            return {}
        found = await self._context.abilities.secrets.reveal_several(names, reader=f"workflow {workflow.name}")
        if missing := [name for name in names if name not in found]:
            raise InvalidRunError(f"workflow {workflow.name} cannot run: unknown secret {missing[0]}", hint=_STORE_IT)
        return found

    def values(
        self,
        workflow: Workflow,
        params: Mapping[str, Any],
        request: WorkflowRequest,
        secrets: Mapping[str, str],
        run_id: str = "",
        continued: Run | None = None,
    ) -> RunValues:
        """Return the values that a run begins with; in a plan, without a run, secrets stay as they are written."""
        told = {
            "id": run_id,
            "name": workflow.name,
            "scheduled_for": timestamp(request.scheduled_for) or "",
            "started_at": timestamp((continued and continued.started_at) or self._context.clock.now()) or "",
            "trigger": str(request.trigger),
            "attempt": continued.attempt if continued else _attempt(request),
        }
        values = RunValues(params, told, secrets, is_masked=request.is_masked)
        scope = StepScope(values, (), (), self.folder_of(workflow))
        shown = {name: _text_of(scope, template, known=bool(run_id)) for name, template in workflow.env.items()}
        values.env = {**shown, **request.env}
        return values

    def folder_of(self, workflow: Workflow) -> Path:
        """Return the working directory of the commands of a workflow."""
        return self._context.data_dir / Path(workflow.working_dir).expanduser()


def secrets_of(workflow: Workflow) -> list[str]:
    """Return the names of the secrets that a workflow reads."""
    templates: list[Template] = [*workflow.env.values()]
    for step in workflow.all_steps():
        templates += [*step.env.values(), *step.option("headers", {}).values()]
    found = [each.path for template in templates for each in template.placeholders() if each.secret]
    return list(dict.fromkeys(found))


def left_out(workflow: Workflow, request: WorkflowRequest) -> dict[str, StepRun]:
    """Return the records of the steps that a run leaves out: kept from an earlier run, or skipped.

    To leave a question out is to answer it: those before a step that runs are asked, unless who starts the run may
    answer them. Raises InvalidRunError for a step that the workflow does not have.
    """
    names = [step.name for step in workflow.all_steps()]
    for name in (*request.only, *([request.from_step] if request.from_step else [])):
        if name not in names:
            wrong, hint = f"workflow {workflow.name} has no step {name!r}", f"choose from {', '.join(names)}"
            raise InvalidRunError(wrong, hint=hint, body_key="only" if name in request.only else "from_step")
    needs = {step.name: step.needs for step in workflow.steps}
    from_here = descendants([request.from_step], needs) if request.from_step else set()
    if request.retry:
        found = _kept(workflow, request.retry, needs, from_here)
    else:
        wanted = set(request.only) or from_here or set(needs)
        found = {step.name: _skipped(step.name, str(step.type)) for step in workflow.steps if step.name not in wanted}
    before = ancestors(needs)
    needed = set[str]().union(*(before[name] for name in needs if name not in found))
    asked = {step.name for step in workflow.steps if step.name in needed and not _may_answer(step, request.actor)}
    return {name: record for name, record in found.items() if name not in asked}


def _may_answer(step: WorkflowStep, actor: str | None) -> bool:
    """Whether the starter of a run may answer the question of a step, or the step asks none."""
    if not step.option("approval", False):
        return True
    try:
        refuse_others(question_of(step), actor, actor)
    except NotApproverError:
        return False
    return True


def _kept(
    workflow: Workflow, retry: Retry, needs: Mapping[str, tuple[str, ...]], again: set[str]
) -> dict[str, StepRun]:
    """Return the steps of the earlier run that are not run again: those that succeeded, and follow none that did not.

    From a step on, all earlier ones that succeeded are kept. Those that did not are run again: a retry does not go
    around an approval that was rejected. Of a run that succeeded as a whole, nothing is kept unless a step is named.
    """
    if retry.run.ok and not retry.from_step:
        return {}
    earlier = {step.name: step for step in retry.run.steps}
    types = {step.name: str(step.type) for step in workflow.steps}
    good = {
        name
        for name, step in earlier.items()
        if step.status is RunStatus.SUCCEEDED and types.get(name) == step.type and name not in again
    }
    anew = again or descendants([name for name in needs if name not in good], needs)
    return {name: earlier[name] for name in needs if name in good and name not in anew}


def _attempt(request: WorkflowRequest) -> int:
    return request.retry.run.attempt + 1 if request.retry else 1


def _skipped(name: str, kind: str) -> StepRun:
    told = {"code": "skipped", "message": "it was not selected for this run"}
    return StepRun(name, kind, RunStatus.SKIPPED, error=told)


def _text_of(scope: StepScope, template: Template, *, known: bool) -> str:
    def value_of(placeholder: Placeholder) -> str:
        return placeholder.spelled() if placeholder.secret and not known else scope.text_of(placeholder)

    return template.fill(value_of)


def _told(values: RunValues) -> dict[str, str]:
    """Return the variables about the run that every command gets."""
    run = values.run
    told = {"RUN_ID": run["id"], "WORKFLOW": run["name"], "TRIGGER": run["trigger"]}
    return {**told, "SCHEDULED_FOR": run["scheduled_for"]}
