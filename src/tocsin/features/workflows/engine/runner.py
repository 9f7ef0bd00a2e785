"""Runs the steps of a workflow: in waves as they become ready, each with its condition, attempts and outputs."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import TocsinError
from tocsin.core.text.redaction import redact_json
from tocsin.core.time.clock import Clock
from tocsin.core.tracing.spans import span
from tocsin.features.workflows.engine.attempts import StepWork
from tocsin.features.workflows.engine.left_steps import LeftSteps
from tocsin.features.workflows.engine.step_call import Attempt, Execute, StepCall, StepOutcome
from tocsin.features.workflows.engine.values import RunValues, StepScope
from tocsin.features.workflows.language.graph import ancestors
from tocsin.features.workflows.language.model import REJECTED, Workflow, WorkflowStep
from tocsin.features.workflows.language.names import STATES
from tocsin.runs.engine.recovery import interrupted
from tocsin.runs.model import ENDED_BADLY, Run, RunResult, RunStatus, StepRun
from tocsin.runs.recorder import RunHandle

TIMEOUT_GRACE_S = 2.0  # for steps that are running at the time limit of the run
SKIPPED, CANCELLED = "skipped", "cancelled"


class WorkflowRunner:
    """One run of a workflow. `kept` are steps of an earlier run that are not run again.

    `continued` is the record of this run where another process has begun it.
    """

    def __init__(  # noqa: PLR0913  # all of them are needed for every step
        self,
        workflow: Workflow,
        values: RunValues,
        handle: RunHandle,
        *,
        execute: Execute,
        clock: Clock,
        folder: Path,
        environment: Mapping[str, str],
        redact: Callable[[str], str],
        kept: Mapping[str, StepRun] | None = None,
        continued: Run | None = None,
    ) -> None:
        self._workflow = workflow
        self._values = values
        self._handle = handle
        self._clock = clock
        self._folder = folder
        self._execute = execute
        self._environment = environment
        self._redact = redact
        self._kept = dict(kept or {})
        self._begun: Mapping[str, StepRun] = {}  # steps that another process has begun and that go on here
        self._began_at = clock.now()
        if continued is not None:
            left = LeftSteps(workflow, continued, is_masked=values.is_masked, now=clock.now())
            self._kept, self._begun = left.kept, left.begun
            self._began_at = continued.started_at or self._began_at
        self._attempts: set[Attempt] = set()
        self._ending = ""  # why no further step starts: cancelled, or out of time
        self._ended = asyncio.Event()

    async def run(self) -> RunResult:
        """Run the steps, then those for success, failure and the end; return how the run ended."""
        self._handle.on_cancel(lambda grace_s: self._end(CANCELLED, grace_s))
        self._handle.executes = lambda: any(attempt.executes for attempt in self._attempts)
        await self._announce()
        timed_out = await self._main()
        if self._ending == CANCELLED:
            for step in (*self._workflow.on_success, *self._workflow.on_failure, *self._workflow.on_finish):
                await self._skip(step, "the run was cancelled", RunStatus.CANCELLED)
            return self._result("it was cancelled")
        self._ending, self._ended = "", asyncio.Event()
        bad = timed_out or self._failed(self._workflow.steps)
        for steps in (self._workflow.on_failure if bad else self._workflow.on_success, self._workflow.on_finish):
            await self._phase(steps, 1, after=[step.name for step in self._workflow.steps])
        unused = self._workflow.on_success if bad else self._workflow.on_failure
        for step in unused:
            await self._skip(step, f"the run {'failed' if bad else 'succeeded'}")
        return self._result("it timed out" if timed_out else "")

    async def _announce(self) -> None:
        """Record every step as queued, and those that are kept as they are."""
        steps = []
        for step in self._workflow.all_steps():
            if kept := self._kept.get(step.name):
                self._values.steps[step.name] = kept
                self._forgive(step, kept)
            queued = StepRun(step.name, str(step.type), when=step.when.text if step.when else None)
            steps.append(kept or self._begun.get(step.name, queued))
        await self._handle.save_steps(*steps)

    async def _main(self) -> bool:
        """Run the steps; return whether the time of the run was over before they ended."""
        limit = self._workflow.timeout_s
        if limit is not None:
            limit = max(0.0, self._began_at + limit - self._clock.now())
        work = asyncio.ensure_future(self._phase(self._workflow.steps, self._workflow.max_parallel))
        try:
            done, _ = await asyncio.wait({work}, timeout=limit)
            if not done:
                self._end("timed out", TIMEOUT_GRACE_S)
            await work
            return not done
        finally:
            work.cancel()

    def _reason(self) -> str:
        """Return why no further step starts."""
        return "the run was cancelled" if self._ending == CANCELLED else "the run timed out"

    def _end(self, reason: str, grace_s: float) -> None:
        """Start no further steps, and ask the active ones to end."""
        self._ending = reason
        self._ended.set()
        for attempt in list(self._attempts):
            attempt.ask_to_end(grace_s)

    async def _phase(self, steps: Sequence[WorkflowStep], limit: int, after: Collection[str] = ()) -> None:
        """Run a list of steps, each when those that it needs have ended."""
        waiting = {step.name: step for step in steps if step.name not in self._kept}
        before = ancestors({step.name: step.needs for step in steps})
        running: dict[asyncio.Task[StepRun], WorkflowStep] = {}
        try:
            while waiting or running:
                # A step that is kept may follow one that is run again: its own followers wait for both.
                open_steps = {*waiting, *(step.name for step in running.values())}
                for step in [each for each in waiting.values() if open_steps.isdisjoint(before[each.name])]:
                    if len(running) < limit:
                        del waiting[step.name]
                        scope = self._scope(step, before[step.name], after)
                        running[asyncio.create_task(self._step(step, scope))] = step
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del running[task]
                    task.result()
        finally:
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running)

    def _scope(self, step: WorkflowStep, before: Collection[str], after: Collection[str]) -> StepScope:
        return StepScope(self._values, after or before, before, self._folder)

    async def _step(self, step: WorkflowStep, scope: StepScope) -> StepRun:
        """Run one step, or record why it is not run."""
        if self._ending:
            return await self._skip(step, self._reason(), RunStatus.CANCELLED)
        try:
            blocked = self._blocked(step, scope)
        except TocsinError as error:
            return await self._finish(step, failed_at(self._clock, step, error.code, f"when: {error.sentence()}"))
        if blocked:
            return await self._skip(step, blocked)
        work = StepWork(
            workflow=self._workflow,
            step=step,
            scope=scope,
            handle=self._handle,
            execute=self._watched,
            clock=self._clock,
            environment=self._environment,
            ending=self._ended,
            begun=self._begun.get(step.name),
        )
        try:
            with span("step", step_type=step.type, step=step.name, run=self._handle.run_id) as current:
                ended = await work.run()
                current.set(outcome=ended.status)
                if ended.status in ENDED_BADLY:
                    current.fail((ended.error or {}).get("code") or ended.status)
        except asyncio.CancelledError:
            if not self._ended.is_set():  # the program stops; the record of the run says so
                raise
            ended = StepRun(step.name, str(step.type), RunStatus.CANCELLED, finished_at=self._clock.now())
        return await self._finish(step, ended)

    def _blocked(self, step: WorkflowStep, scope: StepScope) -> str:
        """Return why a step does not run; raises ExpressionError."""
        if step.require_success:
            for name in step.needs:
                before = self._values.steps.get(name)
                if before is not None and before.status is RunStatus.SKIPPED:
                    return f"it needs {name}, which was skipped"
        culprits = scope.failed(scope.blockers) if step.when is None or not step.when.calls(STATES) else []
        if culprits:
            return f"it needs {culprits[0]}, which {_WORDS[self._values.steps[culprits[0]].status]}"
        if step.when is not None and not step.when.holds(scope):
            return "its condition is not met"
        return ""

    async def _watched(self, call: StepCall) -> StepOutcome:
        """Execute one attempt so that it can be ended from outside."""
        if self._ended.is_set():  # since the step began
            return StepOutcome(RunStatus.CANCELLED, self._reason(), CANCELLED)
        attempt = Attempt(asyncio.ensure_future(self._execute(call)), call)
        self._attempts.add(attempt)
        try:
            return await attempt.task
        finally:
            attempt.task.cancel()
            self._attempts.discard(attempt)

    async def _skip(self, step: WorkflowStep, reason: str, status: RunStatus = RunStatus.SKIPPED) -> StepRun:
        skipped = StepRun(
            step.name,
            str(step.type),
            status,
            finished_at=self._clock.now(),
            when=step.when.text if step.when else None,
            error={"code": SKIPPED, "message": reason},
        )
        return await self._finish(step, skipped)

    async def _finish(self, step: WorkflowStep, ended: StepRun) -> StepRun:
        self._values.steps[step.name] = ended
        self._forgive(step, ended)
        shown = self._masked(ended)
        if shown.outputs != ended.outputs and not self._values.is_masked:
            self._values.is_masked = True
            await self._handle.amend_request(is_masked=True)
        await self._handle.save_steps(shown)
        return ended

    def _forgive(self, step: WorkflowStep, ended: StepRun) -> None:
        if step.continue_on_error and ended.status in ENDED_BADLY:
            self._values.forgiven.add(step.name)

    def _masked(self, step: StepRun) -> StepRun:
        """Return a record without secrets; later steps of this run get the outputs as they are."""
        error = None if step.error is None else {name: self._redact(text) for name, text in step.error.items()}
        outputs = {name: redact_json(each, self._redact) for name, each in step.outputs.items()}
        return replace(step, error=error, outputs=outputs)

    def _failed(self, steps: Collection[WorkflowStep]) -> list[str]:
        return [
            step.name
            for step in steps
            if self._values.steps[step.name].status in ENDED_BADLY and step.name not in self._values.forgiven
        ]

    def _result(self, reason: str) -> RunResult:
        if self._ending == CANCELLED:
            return RunResult(RunStatus.CANCELLED, reason)
        if reason:
            return RunResult(RunStatus.TIMED_OUT, reason, error={"code": "timed-out", "message": reason})
        failed = self._failed([step for step in self._workflow.all_steps() if step.name in self._values.steps])
        if failed:
            step = self._values.steps[failed[0]]
            message = (step.error or {}).get("message", "")
            said = f"step {failed[0]} {_WORDS[step.status]}{': ' if message else ''}{message}"
            more = f"; {', '.join(failed[1:])} failed too" if failed[1:] else ""
            if any(self._values.steps[name].status is RunStatus.INTERRUPTED for name in failed):
                return replace(interrupted(said + more, self._handle.run_id), exit_code=step.exit_code)
            code = REJECTED if (step.error or {}).get("code") == REJECTED else "step-failed"
            return RunResult(RunStatus.FAILED, said + more, step.exit_code, error={"code": code, "message": said})
        if self._values.forgiven:
            names = ", ".join(sorted(self._values.forgiven))
            return RunResult(RunStatus.PARTIALLY_SUCCEEDED, f"failed steps: {names}")
        return RunResult(RunStatus.SUCCEEDED)


def failed_at(clock: Clock, step: WorkflowStep, code: str, message: str) -> StepRun:
    """Return the record of a step that failed before it began."""
    now = clock.now()
    record = StepRun(step.name, str(step.type), RunStatus.FAILED, started_at=now, finished_at=now)
    return replace(record, when=step.when.text if step.when else None, error={"code": code, "message": message})


_WORDS = {
    RunStatus.FAILED: "failed",
    RunStatus.TIMED_OUT: "timed out",
    RunStatus.CANCELLED: "was cancelled",
    RunStatus.INTERRUPTED: "was interrupted",
}
