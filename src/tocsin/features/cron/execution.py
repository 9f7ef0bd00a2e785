"""The start of a run of a job, and its work, for each type of job."""

import asyncio
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tocsin.core.text.shell import as_variable, format_value, shell_argv, variable_name
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import FeatureContext
from tocsin.features.cron.feature import CRON
from tocsin.features.cron.model import KIND, JobDefinition, JobRunningError, JobType, restored
from tocsin.runs.control import NotRetriedError, StartRequest
from tocsin.runs.engine.active_run import ActiveRun, PendingRun, follow_child, show_child
from tocsin.runs.engine.overlap import OverlapError, OverlapRules
from tocsin.runs.model import Command, Line, Run, RunResult, RunSpec, RunStatus
from tocsin.runs.recorder import RunHandle, Work, command

_VAULT = re.compile(r"\$\{vault:([A-Za-z_][A-Za-z0-9_]{0,127})\}")


def definition_of(run: Run) -> JobDefinition:
    """Return the definition of a run, even if its job was edited or removed since."""
    return restored(run.snapshot or {})


def order_again(run: Run, actor: str | None, source: str = "") -> RunSpec:
    """Return the order that repeats an earlier run; raises NotRetriedError if its definition was not stored."""
    if run.snapshot is None:
        raise NotRetriedError(
            "the definition of this run was not stored",
            hint=f"run the job: tocsin cron run {shlex.quote(run.subject_name)}",
        )
    return RunSpec(
        KIND,
        run.subject_id,
        run.subject_name,
        run.trigger,
        actor,
        params=run.params,
        env_keys=run.env_keys,
        max_attempts=run.max_attempts,
        snapshot=run.snapshot,
        history_limit=run.history_limit,
        history_days=run.history_days,
        log_max_bytes=definition_of(run).log_max_bytes,
        source=source,
    )


def job_work(context: FeatureContext) -> Work:
    """Return the work of a run, which is made from its record."""

    async def work(handle: RunHandle) -> RunResult:
        return await JobExecution(handle.run, context).work(handle)

    return work


async def start_job(
    context: FeatureContext, order: RunSpec, *, force: bool = False, watch: Callable[[Line], None] | None = None
) -> ActiveRun:
    """Start a run of a job now; raises JobRunningError if its policy forbids that, unless `force`."""
    runs, work = context.runs(), job_work(context)
    if force:
        return await runs.start(order, work, watch=watch)
    with _explained(order):
        return await runs.admit(order, work, _rules(order), watch=watch)


async def start_or_queue_job(context: FeatureContext, order: RunSpec) -> ActiveRun | PendingRun:
    """Start a run of a job, or queue it if its policy says so; raises JobRunningError."""
    with _explained(order):
        return await context.runs().admit_or_queue(order, job_work(context), _rules(order))


async def check_admission(context: FeatureContext, order: RunSpec) -> None:
    """Raise JobRunningError if `start_or_queue_job` would."""
    with _explained(order):
        await context.runs().check_admission(order, _rules(order))


def _rules(order: RunSpec) -> OverlapRules:
    return restored(order.snapshot or {}).overlap_rules


@contextmanager
def _explained(order: RunSpec) -> Iterator[None]:
    """Name the job that its policy does not allow to run."""
    try:
        yield
    except OverlapError as error:
        told = f"job {order.subject_name} was not started: {error}"
        raise JobRunningError(told, hint="wait until it has ended, or force the start") from None


class JobExecution:
    """One run of a job."""

    def __init__(self, run: Run, context: FeatureContext) -> None:
        self._run = run
        self._definition = definition_of(run)
        self._parts = context

    async def work(self, handle: RunHandle) -> RunResult:
        work: Work = {
            JobType.SHELL: self._shell,
            JobType.SKILL: self._skill,
            JobType.WORKFLOW: self._workflow,
            JobType.PROMPT: self._prompt,
            JobType.MESSAGE: self._message,
        }[JobType(self._definition.type)]
        if self._definition.type == JobType.SHELL or not self._definition.timeout_seconds:
            return await work(handle)
        try:
            async with asyncio.timeout(self._definition.timeout_seconds):
                return await work(handle)
        except TimeoutError:
            reason = f"it did not finish within {self._definition.timeout_seconds} s"
            return RunResult(RunStatus.TIMED_OUT, reason, error={"code": "timed-out", "message": reason})

    async def _shell(self, handle: RunHandle) -> RunResult:
        definition = self._definition
        child = Command(
            shell_argv(definition.command, definition.name),
            await self._environment(),
            Path(definition.working_dir or self._parts.data_dir),
            float(definition.timeout_seconds),
            success_exit_codes=definition.success_exit_codes,
        )
        return await command(child)(handle)

    async def _environment(self) -> dict[str, str]:
        run = self._run
        params = {variable_name("PARAM", name): as_variable(value) for name, value in run.params.items()}
        own = {
            "JOB_ID": run.subject_id,
            "JOB_NAME": run.subject_name,
            "RUN_ID": run.id,
            "SCHEDULED_FOR": timestamp(run.scheduled_for) or "",
            "ATTEMPT": str(run.attempt),
            "TRIGGER": str(run.trigger),
        }
        return {**self._parts.environment(), **params, **await self._own_variables(), **own}

    async def _own_variables(self) -> dict[str, str]:
        """Return the variables of the job, with the values of the vault that they name."""
        env = self._definition.env
        names = sorted({name for value in env.values() for name in _VAULT.findall(value)})
        reader = f"cron job {self._definition.name}"
        secrets = {name: await self._parts.abilities.secrets.reveal(name, reader=reader) for name in names}
        return {name: _VAULT.sub(lambda found: secrets[found[1]], value) for name, value in env.items()}

    async def _skill(self, handle: RunHandle) -> RunResult:
        params = self._run.params
        ended = await self._parts.abilities.skills.run(
            self._definition.command,
            source=CRON.name,
            cause=self._run.trigger,
            actor=self._run.actor,
            args=_words(params.get("args", "")),
            input=format_value(params.get("input", "")),
            part_of=handle.run_id,
        )
        return show_child(handle, ended)

    async def _workflow(self, handle: RunHandle) -> RunResult:
        child = await self._parts.abilities.run_starter.start(
            "workflow",
            self._definition.command,
            StartRequest(
                source=CRON.name,
                cause=self._run.trigger,
                actor=self._run.actor,
                params=self._run.params,
                parent_run_id=self._run.id,
            ),
        )
        return await follow_child(handle, "workflow", child)

    async def _prompt(self, handle: RunHandle) -> RunResult:
        handle.write("stdout", await self._parts.abilities.models.ask(self._definition.command))
        return RunResult(RunStatus.SUCCEEDED)

    async def _message(self, handle: RunHandle) -> RunResult:
        handle.write("stdout", self._definition.command)
        return RunResult(RunStatus.SUCCEEDED)


def _words(value: Any) -> list[str]:
    """Return arguments that are given as a list, or as a line of words."""
    return [format_value(each) for each in value] if isinstance(value, list) else shlex.split(format_value(value))
