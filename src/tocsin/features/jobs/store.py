"""The tables of task jobs, shared with other processes.

Each write raises the version of its job, and is recorded in the feed of changes.
"""

import json
import logging
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tocsin.core import short_ids
from tocsin.core.pages import ListPage
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.change_feed import ChangeKind, note_change
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.jobs.model import (
    DiffStat,
    JobEvent,
    TaskConflictError,
    TaskJob,
    TaskJobStatus,
    TaskPhase,
    TaskPriority,
    TaskResult,
    UnknownTaskJobError,
)
from tocsin.runs.model import Run, RunStatus

log = logging.getLogger(__name__)

EndOfRun = Callable[[TaskJob, Run], TaskJob]

MAX_PAGE = 200

_PLAIN = (
    "id", "title", "description", "status", "priority", "command", "skill", "repo", "base_branch", "base_sha", "branch",
    "worktree_path", "head_sha", "ahead", "behind", "progress", "run_id", "created_at", "started_at", "completed_at",
    "updated_at", "created_by", "version", "phase", "phase_owner", "phase_at",
)  # fmt: skip
_COLUMNS = (*_PLAIN, "labels", "diffstat", "result", "error", "delete_branch")
_INSERT = f"INSERT INTO task_jobs ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"  # noqa: S608  # our own names
_UPDATE = f"UPDATE task_jobs SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)} WHERE id = :id"  # noqa: S608  # our own names
_VISIBLE = "phase <> 'making'"
# The job of a run whose process died before it noted that the job had begun.
_NOT_BEGUN = "SELECT id FROM task_jobs WHERE id = :job AND status = 'queued' AND COALESCE(run_id, '') < :run"
# Topics and kinds of changes. A job shows what is known of its branch, too.
_TOLD_AS: Mapping[JobEvent, Sequence[tuple[str, ChangeKind]]] = {
    JobEvent.CREATED: (("jobs", "created"),),
    JobEvent.UPDATED: (("jobs", "updated"),),
    JobEvent.DELETED: (("jobs", "deleted"),),
    JobEvent.BRANCH_UPDATED: (("branches", "updated"), ("jobs", "updated")),
}


@dataclass(frozen=True, slots=True)
class TaskJobFilter:
    """A search, restricted by every field that is set; `q` is part of the title, description or branch."""

    status: Collection[TaskJobStatus] = ()
    label: str = ""
    q: str = ""
    limit: int = 50
    cursor: str = ""  # `next_cursor` of the previous page


class TaskJobStore:
    """The task jobs of a data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @writes
    def add(self, connection: sqlite3.Connection, job: TaskJob) -> None:
        """Add a job; raises TaskConflictError if another job has its branch."""
        if job.branch is not None:
            sql = "SELECT id FROM task_jobs WHERE repo = ? AND branch = ?"
            taken = connection.execute(sql, [job.repo, job.branch]).fetchone()
            if taken is not None:
                raise TaskConflictError(
                    f"branch {job.branch} already belongs to task job {taken['id']}", hint="choose another branch"
                )
        connection.execute(_INSERT, _row_of(job))
        if job.phase is TaskPhase.READY:
            _note(connection, job.id, JobEvent.CREATED)

    async def get(self, text: str) -> TaskJob:
        """Return the only job whose ID, or the last group of it, begins with `text`; raises UnknownTaskJobError."""

        async def find(texts: Sequence[str], limit: int) -> list[list[str]]:
            return await self._database.read(lambda c: short_ids.matching(c, "task_jobs", texts, limit))

        job_id = await short_ids.resolve_id(text, find, _unknown, "task jobs")
        job = await self._database.read(lambda connection: _find(connection, job_id))
        if job.phase is TaskPhase.MAKING:
            raise _unknown(text)
        return job

    async def change(
        self, job_id: str, change: Callable[[TaskJob], TaskJob], now: float, event: JobEvent = JobEvent.UPDATED
    ) -> TaskJob:
        """Replace a job by the result of `change`, which may raise; an unchanged job is not written."""
        return await self._database.write(lambda connection: changed(connection, job_id, change, now, event))

    def submit_progress(self, job_id: str, progress: float, now: float) -> None:
        """Note how far a running job is, without waiting for it."""

        def note(job: TaskJob) -> TaskJob:
            return replace(job, progress=progress) if job.status is TaskJobStatus.RUNNING else job

        def done(_: object, error: Exception | None) -> None:
            if error is not None:
                log.debug("the progress of a task job is not kept", extra={"job": job_id, "reason": str(error)})

        self._database.submit(lambda connection: changed(connection, job_id, note, now), done)

    @writes
    def remove(self, connection: sqlite3.Connection, job_id: str, *, told: bool = True) -> None:
        """Delete the record of a job; `told` leaves a change, as for every job that was ever seen."""
        gone = connection.execute("DELETE FROM task_jobs WHERE id = ?", [job_id]).rowcount
        if gone and told:
            _note(connection, job_id, JobEvent.DELETED)

    @reads
    def search(self, connection: sqlite3.Connection, query: TaskJobFilter) -> ListPage[TaskJob]:
        """Return the newest matching jobs."""
        conditions, values = _conditions(query)
        where, limit = " AND ".join(conditions), max(1, min(query.limit, MAX_PAGE))
        before = query.cursor if re.fullmatch(r"[0-9a-f-]{36}", query.cursor) else "~"
        sql = f"SELECT * FROM task_jobs WHERE {where} AND id < ? ORDER BY id DESC LIMIT ?"  # noqa: S608  # our own words
        found = [_job(row) for row in connection.execute(sql, [*values, before, limit + 1])]
        count = f"SELECT COUNT(*) FROM task_jobs WHERE {where}"  # noqa: S608  # our own words
        total = connection.execute(count, values).fetchone()[0]
        return ListPage(found[:limit], found[limit - 1].id if len(found) > limit else None, total)

    async def several(self, ids: Sequence[str]) -> list[TaskJob]:
        """Return the jobs with these IDs that exist."""
        sql = f"SELECT * FROM task_jobs WHERE {_VISIBLE} AND id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks only
        return await self._jobs(sql, *ids)

    async def with_branch(self) -> list[TaskJob]:
        return await self._jobs(
            "SELECT * FROM task_jobs WHERE branch IS NOT NULL AND phase <> 'making' ORDER BY id DESC"
        )

    async def lively(self, since: float) -> list[TaskJob]:
        """Return the jobs with a branch that are running, or have ended since a time."""
        sql = "SELECT * FROM task_jobs WHERE branch IS NOT NULL AND (status = ? OR completed_at > ?)"
        return await self._jobs(sql, TaskJobStatus.RUNNING, since)

    async def unfinished(self) -> list[TaskJob]:
        """Return the jobs whose branch is being made or removed, or was when a process ended."""
        return await self._jobs("SELECT * FROM task_jobs WHERE phase <> 'ready'")

    async def startable(self) -> list[TaskJob]:
        """Return the queued jobs, the oldest first."""
        sql = "SELECT * FROM task_jobs WHERE status = 'queued' AND phase = 'ready' ORDER BY id LIMIT 1000"
        return await self._jobs(sql)

    async def ids(self) -> set[str]:
        """Return the IDs of all jobs, also of those that are being made."""
        return await self._database.read(lambda c: {row["id"] for row in c.execute("SELECT id FROM task_jobs")})

    async def running(self) -> list[TaskJob]:
        return await self._jobs("SELECT * FROM task_jobs WHERE status = 'running' AND run_id IS NOT NULL")

    async def complete(self, run: Run, now: float, end: EndOfRun) -> TaskJob | None:
        """Complete the job of an ended run and return it; `None` if the job had ended before."""
        return await self._database.write(lambda connection: complete(connection, run, now, end))

    async def _jobs(self, sql: str, *values: object) -> list[TaskJob]:
        return await self._database.read(lambda connection: [_job(row) for row in connection.execute(sql, values)])


def changed(
    connection: sqlite3.Connection,
    job_id: str,
    change: Callable[[TaskJob], TaskJob],
    now: float,
    event: JobEvent = JobEvent.UPDATED,
) -> TaskJob:
    """Replace a job by the result of `change` within a transaction; raises UnknownTaskJobError."""
    before = _find(connection, job_id)
    wanted = change(before)
    if wanted == before:
        return before
    after = replace(wanted, version=before.version + 1, updated_at=now)
    connection.execute(_UPDATE, _row_of(after))
    _note(connection, job_id, event)
    return after


def complete(connection: sqlite3.Connection, run: Run, now: float, end: EndOfRun) -> TaskJob | None:
    """Complete a job as `TaskJobStore.complete` does, within a transaction."""
    row = connection.execute("SELECT id FROM task_jobs WHERE run_id = ? AND status = 'running'", [run.id]).fetchone()
    if row is None and run.status is RunStatus.INTERRUPTED:
        row = connection.execute(_NOT_BEGUN, {"run": run.id, "job": run.subject_id}).fetchone()
    if row is None:
        return None
    return changed(connection, row["id"], lambda job: end(_begun(job, run), run), now)


def _begun(job: TaskJob, run: Run) -> TaskJob:
    return job if job.run_id == run.id else replace(job, run_id=run.id, started_at=run.started_at)


async def is_known(database: Database, job_id: str) -> bool:
    """Whether a job is in this data directory."""
    sql = "SELECT 1 FROM task_jobs WHERE id = ?"
    return await database.read(lambda connection: connection.execute(sql, [job_id]).fetchone() is not None)


def _note(connection: sqlite3.Connection, job_id: str, event: JobEvent) -> None:
    for topic, kind in _TOLD_AS[event]:
        note_change(connection, topic, job_id, kind)


def _find(connection: sqlite3.Connection, job_id: str) -> TaskJob:
    row = connection.execute("SELECT * FROM task_jobs WHERE id = ?", [job_id]).fetchone()
    if row is None:
        raise _unknown(job_id)
    return _job(row)


def _unknown(text: str) -> UnknownTaskJobError:
    return UnknownTaskJobError(f"unknown task job: {text[:100]}", hint="`tocsin jobs list` shows the task jobs")


def _conditions(query: TaskJobFilter) -> tuple[list[str], list[object]]:
    conditions, values = [_VISIBLE], list[object]()
    if query.status:
        conditions.append(f"status IN ({', '.join('?' * len(query.status))})")
        values += sorted(query.status)
    if query.label:
        conditions.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)")
        values.append(query.label)
    if query.q:
        conditions.append("instr(lower(title || char(10) || description || char(10) || ifnull(branch, '')), ?)")
        values.append(query.q.lower())
    return conditions, values


def _row_of(job: TaskJob) -> dict[str, Any]:
    return {
        **{name: getattr(job, name) for name in _PLAIN},
        "labels": json.dumps(job.labels),
        "diffstat": None if job.diffstat is None else json.dumps(asdict(job.diffstat)),
        "result": None if job.result is None else json.dumps(to_json(job.result)),
        "error": None if job.error is None else json.dumps(job.error),
        "delete_branch": int(job.delete_branch),
    }


def _job(row: sqlite3.Row) -> TaskJob:
    result = None if row["result"] is None else json.loads(row["result"])
    return TaskJob(
        **{name: row[name] for name in _PLAIN if name not in {"status", "priority", "phase"}},
        status=TaskJobStatus(row["status"]),
        priority=TaskPriority(row["priority"]),
        phase=TaskPhase(row["phase"]),
        labels=tuple(json.loads(row["labels"])),
        diffstat=None if row["diffstat"] is None else DiffStat(**json.loads(row["diffstat"])),
        result=None
        if result is None
        else TaskResult(TaskJobStatus(result["outcome"]), result["summary"], result["exit_code"]),
        error=None if row["error"] is None else json.loads(row["error"]),
        delete_branch=bool(row["delete_branch"]),
    )
