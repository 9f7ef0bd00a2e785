"""Steps that start another run: of a skill, of a command on other hosts, of another workflow."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tocsin.core.expressions.template import EMPTY, Template
from tocsin.features.workflows.engine.shell import script_of
from tocsin.features.workflows.engine.step_call import MAX_KEPT_BYTES, StepCall, StepOutcome
from tocsin.runs.control import StartRequest, StartRun
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import ENDED_BADLY, SUCCESSFUL, Run, RunStatus
from tocsin.runs.service import Runs


class StartChild(Protocol):
    """Starts another workflow as a child of this run."""

    async def __call__(self, name: str, params: dict[str, Any], parent_run_id: str) -> ActiveRun:
        """Return its run as soon as it is recorded."""


@dataclass(slots=True)
class BegunChildren:
    """Child runs of another process, for the steps that go on in this one."""

    noted: dict[str, str] = field(default_factory=dict)  # IDs by `StepCall.key`
    others: dict[str, str] = field(default_factory=dict)  # workflows by ID: started, and the process died right then

    def take(self, key: str, workflow: str) -> str:
        """Return the run that an attempt has started, once; empty if there is none."""
        found = self.noted.pop(key, "")
        found = found or next((id_ for id_, name in self.others.items() if name == workflow), "")
        self.others.pop(found, None)
        return found


@dataclass(frozen=True, slots=True)
class ChildSteps:
    """Starts runs, waits for them, and ends them with the step."""

    runs: Runs
    start_run: StartRun
    start_workflow: StartChild
    source: str
    actor: str | None
    begun: BegunChildren = field(default_factory=BegunChildren)

    async def skill(self, call: StepCall) -> StepOutcome:
        params: dict[str, Any] = {
            "args": [call.scope.text(template) for template in call.step.option("args", [])],
            "input": call.option("input"),
            "mode": call.step.option("mode", "sandboxed"),
        }
        running = await self._start("skill", call.command().strip(), params, call)
        return await self._followed(running, call, self._printed)

    async def ssh(self, call: StepCall) -> StepOutcome:
        """Run the command of a step on its hosts; values are variables of the remote shell."""
        script = call.step.command
        params = {
            "hosts": call.step.option("hosts", []),
            "groups": call.step.option("groups", []),
            "command": script_of(call, script if isinstance(script, Template) else EMPTY),
            "env": dict(call.variables),
            "user": call.step.option("user"),
            "max_parallel": call.step.max_parallel,
            "stop_on_failure": call.step.option("stop_on_failure", False),
            "timeout_seconds": call.step.timeout_s,
        }
        running = await self._start("ssh", f"{call.workflow.name}/{call.step.name}", params, call)
        return await self._followed(running, call, self._printed)

    async def workflow(self, call: StepCall) -> StepOutcome:
        """Run the workflow of a step; its outputs are read from JSON: step, output, value."""
        params = call.scope.structure(dict(call.step.params))
        name = call.command().strip()
        run_id = self.begun.take(call.key, name)
        if not run_id:
            running = await self.start_workflow(name, params, call.log.run_id)
            await call.handle.amend_child(call.key, running.run.id)
            return await self._followed(running, call, _handed_on)
        return await self._outcome(await self.runs.wait_or_stop(run_id, call.handle), call, _handed_on)

    async def _start(self, kind: str, subject: str, params: dict[str, Any], call: StepCall) -> ActiveRun:
        request = StartRequest(
            source=self.source,
            cause="workflow",
            actor=self.actor,
            params=params,
            parent_run_id=call.log.run_id,
        )
        return await self.start_run(kind, subject, request)

    async def _followed(
        self, running: ActiveRun, call: StepCall, text_of: Callable[[Run, StepCall], Awaitable[str]]
    ) -> StepOutcome:
        """Wait for a run and return its end; if the step is ended, so is the run."""
        name = f"{running.run.kind} {running.run.subject_name}, run {running.run.id}"
        call.log.write("system", f"started: {name}")
        return await self._outcome(await running.wait_or_stop(), call, text_of)

    async def _outcome(
        self, run: Run, call: StepCall, text_of: Callable[[Run, StepCall], Awaitable[str]]
    ) -> StepOutcome:
        name = f"{run.kind} {run.subject_name}, run {run.id}"
        text = await text_of(run, call)
        ok = run.status in SUCCESSFUL
        call.log.write("system", f"{run.status}: {name}")
        status = RunStatus.SUCCEEDED if ok else run.status if run.status in ENDED_BADLY else RunStatus.FAILED
        reason = "" if ok else f"{run.subject_name} {run.status}{': ' if run.reason else ''}{run.reason or ''}"
        code = "" if ok else (run.error or {}).get("code", str(run.status))
        stderr = call.log.kept("stderr")
        return StepOutcome(status, reason, code, run.exit_code, text, stderr, {"run_id": run.id})

    async def _printed(self, run: Run, call: StepCall) -> str:
        """Return the standard output of a run; all of its output is copied to the log of this run."""
        from_line, size = 1, 0
        while True:
            page = await self.runs.log(run.id, from_line)
            for line in page.lines:
                call.log.write("stderr" if line.stream == "stderr" else "stdout", f"{line.text}\n")
                size += len(line.text)
            if not page.lines or page.complete or size > MAX_KEPT_BYTES:
                return call.log.kept("stdout")
            from_line = page.next_line


async def _handed_on(run: Run, _: StepCall) -> str:
    return json.dumps({step.name: dict(step.outputs) for step in run.steps}, ensure_ascii=False)
