"""One step of a run: its attempts with pauses between them, once or for each of several values, and its outputs."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.storage.files import read_limited
from tocsin.core.tasks import run_concurrently
from tocsin.core.text.shell import format_value
from tocsin.core.time.clock import Clock, sleep_or_event
from tocsin.features.workflows.engine.shell import shell_variables
from tocsin.features.workflows.engine.step_call import Execute, StepCall, StepLog, StepOutcome, failed
from tocsin.features.workflows.engine.values import StepScope, items_of
from tocsin.features.workflows.language.model import REJECTED, StepType, Workflow, WorkflowStep
from tocsin.features.workflows.language.outputs import OutputRule, OutputRuleError
from tocsin.runs.model import RunStatus, StepRun
from tocsin.runs.recorder import RunHandle

_MAX_FILE_BYTES = 1024 * 1024


class StepWork:
    """Carries out one step that is to run."""

    def __init__(  # noqa: PLR0913  # all of them are needed for every attempt
        self,
        *,
        workflow: Workflow,
        step: WorkflowStep,
        scope: StepScope,
        handle: RunHandle,
        execute: Execute,
        clock: Clock,
        environment: Mapping[str, str],
        ending: asyncio.Event,
        begun: StepRun | None = None,
    ) -> None:
        """`begun` is the record of a step that another process has begun."""
        self._workflow = workflow
        self._step = step
        self._scope = scope
        self._handle = handle
        self._execute = execute
        self._clock = clock
        self._environment = environment
        self._ending = ending
        self._first_attempt = begun.attempt if begun else 1
        self._waits_since = begun.started_at if begun else None
        self._record = StepRun(
            step.name,
            str(step.type),
            RunStatus.RUNNING,
            self._first_attempt,
            started_at=self._waits_since or clock.now(),
            when=step.when.text if step.when else None,
        )

    async def run(self) -> StepRun:
        await self._handle.save_steps(self._record)
        if self._step.for_each is None:
            outcome, outputs = await self._tries(self._scope, self._step.name)
        else:
            outcome, outputs = await self._each()
        return replace(
            self._record,
            status=outcome.status,
            finished_at=self._clock.now(),
            exit_code=outcome.exit_code,
            error=None if outcome.ok else {"code": outcome.code or "step-failed", "message": outcome.reason},
            outputs=outputs,
        )

    async def _each(self) -> tuple[StepOutcome, dict[str, Any]]:
        """Run the step for each value; it fails if one fails, and its outputs are lists."""
        try:
            items = items_of(self._step, self._scope)
        except TocsinError as error:
            return failed(error.sentence(), error.code), {}
        slots = asyncio.Semaphore(self._step.max_parallel)

        async def one(number: int, item: Any) -> tuple[StepOutcome, dict[str, Any]]:
            async with slots:
                return await self._tries(replace(self._scope, item=item), f"{self._step.name}[{number}]")

        ended = await run_concurrently(one(number, item) for number, item in enumerate(items))
        names = dict.fromkeys([*self._step.outputs, *(name for _, outputs in ended for name in outputs)])
        listed = {name: [outputs.get(name) for _, outputs in ended] for name in names}
        bad = [(number, outcome) for number, (outcome, _) in enumerate(ended) if not outcome.ok]
        if not bad:
            return StepOutcome(RunStatus.SUCCEEDED), listed
        number, first = bad[0]
        reason = f"{len(bad)} of {len(ended)} failed, first {format_value(items[number])[:100]!r}: {first.reason}"
        return replace(first, reason=reason), listed

    async def _tries(self, scope: StepScope, stream: str) -> tuple[StepOutcome, dict[str, Any]]:
        """Try until it succeeds or no attempt is left; return how the last one ended, and the outputs."""
        rule = self._step.retry
        for attempt in range(self._first_attempt, max(self._first_attempt, rule.max_attempts) + 1):
            log = StepLog(self._handle, stream)
            outcome, outputs = await self._try(scope, log, attempt)
            again = attempt < rule.max_attempts and self._may_help(outcome) and not self._ending.is_set()
            if not again:
                break
            delay = rule.delay_after(attempt)
            self._handle.write(
                "system", f"{stream}: attempt {attempt} failed: {outcome.reason}; next attempt in {delay:g} s\n"
            )
            self._waits_since = None
            self._record = replace(self._record, attempt=attempt + 1)
            # Between two attempts nothing is executed that the end of this process could interrupt.
            pauses = self._step.for_each is None
            await self._handle.save_steps(replace(self._record, status=RunStatus.QUEUED) if pauses else self._record)
            await sleep_or_event(self._clock, delay, self._ending)
            if pauses:
                await self._handle.save_steps(self._record)
        return outcome, outputs

    def _may_help(self, outcome: StepOutcome) -> bool:
        if outcome.status not in {RunStatus.FAILED, RunStatus.TIMED_OUT} or outcome.code == REJECTED:
            return False
        codes = self._step.retry.on_exit_codes
        return not codes or outcome.exit_code in codes

    async def _try(self, scope: StepScope, log: StepLog, attempt: int) -> tuple[StepOutcome, dict[str, Any]]:
        try:
            call = self._call(scope, log, attempt)
            outcome = await self._in_time(call)
        except TocsinError as error:
            return failed(error.sentence(), error.code), {}
        if self._ending.is_set() and not outcome.ok:
            outcome = replace(outcome, status=RunStatus.CANCELLED, reason="the run was ended", code="cancelled")
        try:
            return outcome, {**outcome.outputs, **await self._outputs(call, outcome)}
        except OutputRuleError as error:
            if not outcome.ok:
                return outcome, dict(outcome.outputs)
            return failed(str(error), error.code, exit_code=outcome.exit_code), dict(outcome.outputs)

    async def _in_time(self, call: StepCall) -> StepOutcome:
        """Execute an attempt within its time; a command and a wait know their limits themselves."""
        limit = self._step.timeout_s
        if not limit or self._step.type in {StepType.SHELL, StepType.WAIT}:
            return await self._execute(call)
        try:
            async with asyncio.timeout(limit):
                return await self._execute(call)
        except TimeoutError:
            return StepOutcome(RunStatus.TIMED_OUT, f"it did not finish within {limit:g} s", "timed-out")

    def _call(self, scope: StepScope, log: StepLog, attempt: int) -> StepCall:
        env = {name: scope.text(template) for name, template in self._step.env.items()}
        inner = scope.with_env(env)
        folder = scope.folder
        if self._step.working_dir is not None:
            folder /= Path(inner.text(self._step.working_dir)).expanduser()
            if not folder.is_dir():
                raise OutputRuleError(f"working_dir: directory {folder} does not exist")
        told = {"STEP": self._step.name, "ATTEMPT": str(attempt)}
        runs_shell = self._step.type in {StepType.SHELL, StepType.SSH}
        variables = shell_variables(self._workflow, self._step, scope, log) if runs_shell else {}
        return StepCall(
            workflow=self._workflow,
            step=self._step,
            scope=replace(inner, folder=folder),
            log=log,
            handle=self._handle,
            env={**self._environment, **scope.values.env, **env, **variables, **told},
            variables={**scope.values.env, **env, **variables},
            attempt=attempt,
            since=self._waits_since or self._clock.now(),
        )

    async def _outputs(self, call: StepCall, outcome: StepOutcome) -> dict[str, Any]:
        """Return the outputs of the step; raises OutputRuleError with the name of the output."""
        found = {}
        for name, rule in self._step.outputs.items():
            try:
                found[name] = rule.of(await self._source(call, outcome, rule))
            except OutputRuleError as error:
                raise OutputRuleError(f"output {name}: {error}") from None
        return found

    async def _source(self, call: StepCall, outcome: StepOutcome, rule: OutputRule) -> str:
        if rule.source == "exit_code":
            return "" if outcome.exit_code is None else str(outcome.exit_code)
        if rule.source.startswith("file:"):
            return await asyncio.to_thread(_read, call.scope.folder / rule.source.removeprefix("file:").strip())
        if rule.source in call.log.cut and not any(each.name == "last_line" for each in rule.filters):
            raise OutputRuleError(f"{rule.source} is larger than 1 MiB: print less, or use its last_line")
        return outcome.stderr if rule.source == "stderr" else outcome.stdout


def _read(path: Path) -> str:
    try:
        return read_limited(path, _MAX_FILE_BYTES).decode(errors="replace")
    except TocsinError as error:
        raise OutputRuleError(str(error)) from None
