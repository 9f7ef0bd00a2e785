"""The work of one run, for each type of job."""

import asyncio
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tocsin.core.text.shell import as_variable, spelled, variable_name
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import Abilities
from tocsin.features.cron.audit_actions import CRON
from tocsin.features.cron.model import JobDefinition, JobType
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import result_of_child, show_child
from tocsin.runs.model import Command, Run, RunResult, RunStatus
from tocsin.runs.recorder import RunHandle, Work, command

_VAULT = re.compile(r"\$\{vault:([A-Za-z_][A-Za-z0-9_]{0,127})\}")
# As shells and coreutils have it: timeout(1), and 128 + the number of a signal.
_EXIT_CODES = {
    124: "exit code 124: a time limit inside the command ended it",
    126: "exit code 126: a program cannot be executed",
    127: "exit code 127: a program was not found",
    137: "exit code 137: it was killed (SIGKILL), often because memory ran out",
    143: "exit code 143: it was asked to end (SIGTERM)",
}


@dataclass(frozen=True, slots=True)
class CronDependencies:
    """What runs need of the rest of the program."""

    abilities: Abilities
    environment: Callable[[], Mapping[str, str]]
    data_dir: Path


class JobExecution:
    """One run of a job."""

    def __init__(self, run: Run, definition: JobDefinition, parts: CronDependencies) -> None:
        self._run = run
        self._definition = definition
        self._parts = parts

    async def work(self, handle: RunHandle) -> RunResult:
        """Do the work; see `Work`."""
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
            reason = f"it did not end within {self._definition.timeout_seconds} s"
            return RunResult(RunStatus.TIMED_OUT, reason, error={"code": "timed-out", "message": reason})

    async def _shell(self, handle: RunHandle) -> RunResult:
        definition = self._definition
        child = Command(
            ("/bin/sh", "-c", definition.command, definition.name),
            await self._environment(),
            Path(definition.working_dir or self._parts.data_dir),
            float(definition.timeout_seconds),
        )
        return judged(await command(child)(handle), definition.success_exit_codes)

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
            input=spelled(params.get("input", "")),
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
        await handle.amend_child("workflow", child.run.id)
        ended = await child.wait_or_stop()
        handle.write("stdout", ended.output.tail)
        return result_of_child(ended)

    async def _prompt(self, handle: RunHandle) -> RunResult:
        handle.write("stdout", await self._parts.abilities.models.ask(self._definition.command))
        return RunResult(RunStatus.SUCCEEDED)

    async def _message(self, handle: RunHandle) -> RunResult:
        handle.write("stdout", self._definition.command)
        return RunResult(RunStatus.SUCCEEDED)


def judged(ended: RunResult, success: Collection[int]) -> RunResult:
    """Return the result with the exit codes that count as success, and others explained."""
    code = ended.exit_code
    if code is None or ended.status not in {RunStatus.SUCCEEDED, RunStatus.FAILED}:
        return ended
    if code in success:
        return RunResult(RunStatus.SUCCEEDED, exit_code=code)
    reason = _EXIT_CODES.get(code, f"it ended with exit code {code}")
    return replace(ended, status=RunStatus.FAILED, reason=reason, error={"code": "exit-code", "message": reason})


def _words(value: Any) -> list[str]:
    """Return arguments that are given as a list, or as a line of words."""
    return [spelled(each) for each in value] if isinstance(value, list) else shlex.split(spelled(value))
