"""Jobs in the database: definitions, states, and the cursor of each. Each change of a job raises its version."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from tocsin.core.ids import new_id
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.cron.model import (
    CronJob,
    JobChangedError,
    JobDefinition,
    JobNameTakenError,
    JobSource,
    UnknownJobError,
    restored,
)

_DUE = "SELECT * FROM cron_jobs WHERE next_at <= ? ORDER BY next_at LIMIT ?"
_RESERVED = " run "  # behind the boot in the column `boot`
_ADVANCE = "UPDATE cron_jobs SET cursor = ?, next_at = ? WHERE id = ? AND version = ?"


class Trouble(NamedTuple):
    """Something about the scheduler that people should know, and when it was seen."""

    name: str
    detail: str
    at: float


class JobStore:
    """The table of jobs, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[CronJob]:
        """Return all jobs by name."""
        return await self._database.read(
            lambda connection: [_job(row) for row in connection.execute("SELECT * FROM cron_jobs ORDER BY name")]
        )

    async def get(self, name_or_id: str) -> CronJob:
        """Return one job; raises UnknownJobError."""
        return await self._database.read(lambda connection: find_job(connection, name_or_id))

    @reads
    def find(self, connection: sqlite3.Connection, job_id: str) -> CronJob | None:
        """Return the job of an ID, or None if it was removed."""
        row = connection.execute("SELECT * FROM cron_jobs WHERE id = ?", [job_id]).fetchone()
        return _job(row) if row else None

    @writes
    def add(self, connection: sqlite3.Connection, job: CronJob) -> None:
        """Add a job; raises JobNameTakenError if its name is taken."""
        row = row_of(job)
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        _refuse_taken(connection, job)
        connection.execute(f"INSERT INTO cron_jobs ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names

    @writes
    def change(
        self,
        connection: sqlite3.Connection,
        job_id: str,
        edit: Callable[[CronJob], CronJob],
        *,
        version: int | None = None,
    ) -> CronJob:
        """Replace a job by the result of `edit`, in one transaction.

        Raises UnknownJobError, JobNameTakenError, and JobChangedError where it has another `version` than that one.
        """
        before = find_job(connection, job_id)
        if version is not None:
            _refuse_changed(before, version)
        job = edit(before)
        if job == before:
            return before
        job = replace(job, next_at=job.next_due(), version=before.version + 1)
        _refuse_taken(connection, job)
        row = row_of(job)
        sets = ", ".join(f"{name} = :{name}" for name in row)
        connection.execute(f"UPDATE cron_jobs SET {sets} WHERE id = :id", row)  # noqa: S608  # our own names
        return job

    @writes
    def remove(self, connection: sqlite3.Connection, job_id: str, *, version: int | None = None) -> None:
        """Delete a job; its runs stay. Raises JobChangedError if it has another `version`."""
        if version is not None:
            _refuse_changed(find_job(connection, job_id), version)
        connection.execute("DELETE FROM cron_jobs WHERE id = ?", [job_id])
        connection.execute("DELETE FROM cron_failing WHERE job_id = ?", [job_id])
        connection.execute("DELETE FROM cron_successes WHERE job_id = ?", [job_id])

    @reads
    def outcomes(self, connection: sqlite3.Connection) -> "tuple[dict[str, float], set[str]]":
        """Return when each job succeeded last, and which jobs failed the last time, by ID."""
        succeeded = dict(connection.execute("SELECT job_id, at FROM cron_successes").fetchall())
        return succeeded, {row[0] for row in connection.execute("SELECT job_id FROM cron_failing")}

    async def due(self, now: float, limit: int) -> list[CronJob]:
        return await self._database.read(lambda c: [_job(row) for row in c.execute(_DUE, [now, limit])])

    @reads
    def earliest(self, connection: sqlite3.Connection) -> float | None:
        """Return when the next job is due."""
        found: float | None = connection.execute("SELECT MIN(next_at) FROM cron_jobs").fetchone()[0]
        return found

    async def ahead_of(self, now: float) -> list[CronJob]:
        """Return the jobs whose cursor is later than `now`: the clock was set back."""
        return await self._database.read(
            lambda connection: [
                _job(row) for row in connection.execute("SELECT * FROM cron_jobs WHERE cursor > ?", [now])
            ]
        )

    async def note(self, trouble: Trouble) -> None:
        """Record a trouble, in place of the earlier one of its name."""
        await self._database.execute("INSERT OR REPLACE INTO cron_troubles VALUES (?, ?, ?)", trouble)

    async def troubles(self, since: float) -> list[Trouble]:
        """Return the troubles seen since a time."""
        sql = "SELECT * FROM cron_troubles WHERE at >= ? ORDER BY at"

        return await self._database.read(lambda connection: [Trouble(*row) for row in connection.execute(sql, [since])])


def note_failure(connection: sqlite3.Connection, job_id: str, now: float) -> float:
    """Note that a job fails; return since when."""
    connection.execute("INSERT INTO cron_failing VALUES (?, ?) ON CONFLICT DO NOTHING", [job_id, now])
    return float(connection.execute("SELECT since FROM cron_failing WHERE job_id = ?", [job_id]).fetchone()[0])


def note_success(connection: sqlite3.Connection, job_id: str, at: float) -> float | None:
    """Record that a job works; return the time since which it failed, `None` if it did not."""
    connection.execute("INSERT OR REPLACE INTO cron_successes VALUES (?, ?)", [job_id, at])
    row = connection.execute("DELETE FROM cron_failing WHERE job_id = ? RETURNING since", [job_id]).fetchone()
    return None if row is None else float(row[0])


def advance(connection: sqlite3.Connection, job: CronJob, cursor: float) -> bool:
    """Set the cursor of a job that was read before; return False if it was changed meanwhile."""
    next_at = replace(job, cursor=cursor).next_due()
    return connection.execute(_ADVANCE, [cursor, next_at, job.id, job.version]).rowcount == 1


def reserve_after_start(connection: sqlite3.Connection, boot: str) -> dict[str, CronJob]:
    """Return the jobs that are due after a start of the machine, by the IDs of the runs that they are to have.

    A job keeps the ID until `take_after_start`, so that it runs once in a boot wherever the process dies.
    """
    schedule = "json_extract(definition, '$.schedule')"
    named = f"({schedule} LIKE '%start%' OR {schedule} LIKE '%@reboot%')"
    sql = f"SELECT * FROM cron_jobs WHERE boot != ? AND {named}"  # noqa: S608  # our own names
    jobs = [job for row in connection.execute(sql, [boot]) if (job := _job(row)).is_at_start]
    reserved = {}
    for job in jobs:
        known, _, run_id = job.boot.partition(_RESERVED)
        reserved[run_id if run_id and known == boot else new_id()] = job
    marks = [(f"{boot}{_RESERVED}{run_id}", job.id) for run_id, job in reserved.items()]
    connection.executemany("UPDATE cron_jobs SET boot = ? WHERE id = ?", marks)
    return reserved


def take_after_start(connection: sqlite3.Connection, boot: str, jobs: Iterable[CronJob]) -> None:
    """Note that jobs have their run after a start of the machine."""
    connection.executemany("UPDATE cron_jobs SET boot = ? WHERE id = ?", [(boot, job.id) for job in jobs])


def find_job(connection: sqlite3.Connection, name_or_id: str) -> CronJob:
    """Return one job; raises UnknownJobError."""
    sql = "SELECT * FROM cron_jobs WHERE id = ? OR name = ? ORDER BY id != ? LIMIT 1"
    row = connection.execute(sql, [name_or_id] * 3).fetchone()
    if row is not None:
        return _job(row)
    names = [row["name"] for row in connection.execute("SELECT name FROM cron_jobs ORDER BY name LIMIT 1000")]
    hint = "add one with `tocsin cron add`" if not names else "`tocsin cron list` shows them"
    raise UnknownJobError(f"unknown job: {shorten(name_or_id)!r}{suggestion(name_or_id, names)}", hint=hint)


def _refuse_changed(job: CronJob, version: int) -> None:
    if job.version != version:
        raise JobChangedError(f"job {job.name} was changed concurrently", hint="read it again")


def _refuse_taken(connection: sqlite3.Connection, job: CronJob) -> None:
    row = connection.execute("SELECT id FROM cron_jobs WHERE name = ? AND id != ?", [job.name, job.id]).fetchone()
    if row is not None:
        raise JobNameTakenError(f"job {job.name} already exists", hint="choose another name, or edit that job")


def row_of(job: CronJob) -> dict[str, Any]:
    definition = None if job.definition is None else json.dumps(job.definition.stored())
    plain: Sequence[str] = (
        "id", "name", "source", "file", "problem", "enabled", "auto_disabled", "paused_until", "paused_reason",
        "failures_since", "anchor", "cursor", "next_at", "boot", "version", "created_at", "updated_at", "created_by",
    )  # fmt: skip
    return {**{name: getattr(job, name) for name in plain}, "definition": definition}


@lru_cache(maxsize=2048)  # all jobs are read again and again, and hardly ever change
def stored_definition(stored: str) -> JobDefinition:
    return restored(json.loads(stored))


def _job(row: sqlite3.Row) -> CronJob:
    found = dict(row)
    definition = None if found["definition"] is None else stored_definition(found["definition"])
    flags = {name: bool(found[name]) for name in ("enabled", "auto_disabled")}
    return CronJob(**{**found, **flags, "definition": definition, "source": JobSource(found["source"])})
