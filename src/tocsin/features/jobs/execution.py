"""The work of a task job's run: check its branch out, then run its command or skill there."""

import asyncio
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tocsin.core.process.git import GitProgram
from tocsin.core.storage.files import make_directory
from tocsin.core.text.shell import shell_argv
from tocsin.features.ability_records import AssistantRequest
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.jobs.feature import JOB_COMPLETE, JOBS
from tocsin.features.jobs.git.repository import GitRepository
from tocsin.features.jobs.model import MAX_SUMMARY, TaskJob, TaskJobStatus, TaskResult
from tocsin.features.jobs.settings import JOB_TIMEOUT_S
from tocsin.features.jobs.store import complete, is_known
from tocsin.runs.document import pointers
from tocsin.runs.engine.active_run import result_of_child, show_child
from tocsin.runs.engine.note_once import note_once
from tocsin.runs.engine.run_type import RunAuditEntry, RunType
from tocsin.runs.model import Command, Line, Run, RunResult, RunStatus
from tocsin.runs.recorder import RunHandle, command

INTERRUPTED = "interrupted"
PROGRESS_EVERY_S = 1.0
_PROGRESS = re.compile(r"\s*::progress (?:(0(?:\.\d{1,6})?|1(?:\.0{1,6})?)|(\d{1,2}|100)%)::\s*")

KeepPlace = Callable[[str, Path], Awaitable[None]]
KeepProgress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The dependencies of the work of a job."""

    context: FeatureContext
    program: GitProgram
    worktrees: Path
    keep_place: KeepPlace
    keep_progress: KeepProgress


class TaskExecution:
    """One run of a job; `repository` is None for a job without one, which works in an empty folder of its own."""

    def __init__(self, job: TaskJob, repository: GitRepository | None, parts: JobDependencies) -> None:
        self._job = job
        self._repository = repository
        self._parts = parts
        self._progress: float | None = None
        self._kept: float | None = None
        self._kept_at: float | None = None

    async def work(self, handle: RunHandle) -> RunResult:
        place = await place_of(self._job, self._repository, self._parts.worktrees, handle.child_started)
        await self._parts.keep_place(self._job.id, place)
        try:
            return await self._do(handle, place)
        finally:
            self._keep_newest()

    async def _do(self, handle: RunHandle, place: Path) -> RunResult:
        if not self._job.skill:
            return await self._command(handle, place)
        if await self._parts.context.abilities.skills.is_assistant(self._job.skill):
            return await self._assistant(handle, place)
        return await self._skill(handle)

    def hear(self, line: Line) -> None:
        """Note the progress that a line of output reports."""
        found = _PROGRESS.fullmatch(line.text)
        if found and line.stream in {"stdout", "stderr"}:
            self._progress = float(found[1]) if found[1] else int(found[2]) / 100
            now = self._parts.context.clock.monotonic()
            if self._kept_at is None or now - self._kept_at >= PROGRESS_EVERY_S:
                self._kept_at = now
                self._keep_newest()

    async def _command(self, handle: RunHandle, place: Path) -> RunResult:
        own = {
            "JOB_ID": self._job.id,
            "JOB_TITLE": self._job.title,
            "JOB_BRANCH": self._job.branch or "",
            "JOB_BASE_BRANCH": self._job.base_branch or "",
            "JOB_REPOSITORY": self._job.repo or "",
            "RUN_ID": handle.run_id,
        }
        env = {**self._parts.program.environment_of_command(), **own}
        limit = float(self._parts.context.settings[JOB_TIMEOUT_S])
        return await command(Command(shell_argv(self._job.command, "job"), env, place, limit))(handle)

    async def _skill(self, handle: RunHandle) -> RunResult:
        """Run a skill that is a program in its sandbox, with the job's description on standard input."""
        ended = await self._parts.context.abilities.skills.run(
            self._job.skill,
            source=JOBS.name,
            cause=handle.run.trigger,
            actor=handle.run.actor,
            input=self._job.description or self._job.title,
            part_of=handle.run_id,
        )
        return show_child(handle, ended)

    async def _assistant(self, handle: RunHandle, place: Path) -> RunResult:
        request = AssistantRequest(
            source=JOBS.name,
            cause=handle.run.trigger,
            actor=handle.run.actor,
            folder=place,
            input=self._job.description or self._job.title,
            watch=lambda line: handle.write(line.stream, f"{line.text}\n"),
            parent_run_id=handle.run_id,
            audited=False,
        )
        ended = (await self._parts.context.abilities.assistants.run(self._job.skill, request)).run
        handle.write("system", f"run {ended.id} of the skill {self._job.skill}\n")
        return result_of_child(ended)

    def _keep_newest(self) -> None:
        if self._progress is not None and self._progress != self._kept:
            self._kept = self._progress
            self._parts.keep_progress(self._job.id, self._kept)


async def place_of(
    job: TaskJob,
    repository: GitRepository | None,
    worktrees: Path,
    started: Callable[[int], Awaitable[None]] | None = None,
) -> Path:
    """Return the working directory of a job; create it if it is missing."""
    if repository is not None and job.branch is not None:
        return await repository.make_worktree(job.id, job.branch, started)
    folder = worktrees / job.id
    await asyncio.to_thread(make_directory, folder)
    return folder


def ended_by(job: TaskJob, run: Run) -> TaskJob:
    outcome = _OUTCOMES.get(run.status, TaskJobStatus.FAILED)
    error = dict(run.error) if run.error else None
    if run.status is RunStatus.INTERRUPTED:
        error = {"code": INTERRUPTED, "message": run.reason or ""}
    elif outcome is TaskJobStatus.FAILED and error is None:
        error = {"code": str(run.status), "message": run.reason or ""}
    last = next((line for line in reversed(run.output.tail.splitlines()) if line.strip()), "")
    summary = (run.reason or last).strip()[:MAX_SUMMARY] or None
    return replace(
        job,
        status=outcome,
        result=TaskResult(outcome, summary, run.exit_code),
        error=error,
        completed_at=run.finished_at,
        progress=final_progress(job, outcome),
    )


_OUTCOMES = {RunStatus.SUCCEEDED: TaskJobStatus.COMPLETED, RunStatus.CANCELLED: TaskJobStatus.CANCELLED}


def final_progress(job: TaskJob, outcome: TaskJobStatus) -> float | None:
    """Return the progress of a job that has ended: one that reported some has all of it now."""
    return 1.0 if job.progress is not None and outcome is TaskJobStatus.COMPLETED else job.progress


class JobRuns(RunType):
    """Commands and skills of task jobs."""

    kind = "job"
    source = JOBS.name

    def __init__(self, context: FeatureContext) -> None:
        self._context = context

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Complete the job, unless a person did."""

        def work(connection: sqlite3.Connection) -> Mapping[str, Any]:
            job = complete(connection, run, self._context.clock.now(), ended_by)
            return {} if job is None else {"title": job.title, "status": str(job.status)}

        if not await is_known(self._context.database, run.subject_id):  # the job is on another host
            outcome = _OUTCOMES.get(run.status, TaskJobStatus.FAILED)
            return {"title": run.subject_name, "status": str(outcome)}
        return await note_once(self._context.database, run.id, work)

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the `job.complete` entry."""
        if not noted:
            return None
        facts = {
            "job": run.subject_id,
            "status": noted["status"],
            "run": run.id,
            "ok": run.ok,
            **({"reason": run.reason} if run.reason else {}),
        }
        return RunAuditEntry(JOB_COMPLETE, f"{run.subject_id} {noted['status']}", facts)

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        """Notify the operator of a failure."""
        if noted.get("status") != TaskJobStatus.FAILED:
            return
        title, said = f"Task job {noted['title']} failed", f"{run.reason or ''}\n\n{pointers(run.id)}"
        link, key = f"#/jobs/{run.subject_id}", f"job-failed-{run.subject_id}"
        await self._context.abilities.notices.notify(
            Notice(title, said, NoticeLevel.ERROR, "system", "jobs", link, key)
        )
