"""SQLite for all durable data: one writer with group commit, concurrent readers, numbered migrations.

One thread does all writing of a process. It runs all waiting jobs in one transaction and notifies the callers after the
commit, so that a hundred messages share one fsync. The file is opened at the first use: sending a single message must
not fail because its record cannot be stored.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.files import make_directory

log = logging.getLogger(__name__)

T = TypeVar("T")
Schemas = Mapping[str, Sequence[str]]  # component → migrations

MAX_BATCH = 500  # jobs per transaction: bounds the wait of the first job for the last
BUSY_TIMEOUT_S = 10.0
BUSY_RETRY_S = 0.02
READERS = 4
CACHE_KIB = 8 * 1024
# Failures of a single job; every other failure concerns the file or the disk, and so the whole batch.
_JOB_FAULTS = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_MISUSE,
    sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_TOOBIG,
}
_HINTS = {
    sqlite3.SQLITE_FULL: "free some disk space; accepted messages are not lost",
    sqlite3.SQLITE_IOERR: "check the disk and its free space; accepted messages are not lost",
    sqlite3.SQLITE_BUSY: "another process keeps it locked; stop that process",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup, or move it away to start empty",
    sqlite3.SQLITE_NOTADB: "the file is damaged; restore it from a backup, or move it away to start empty",
}


class DatabaseError(StoreUnavailableError):
    """The database cannot be used; the changes of the failed job were not stored."""

    code = "database-failed"


@dataclass(slots=True)
class _Job(Generic[T]):
    work: Callable[[sqlite3.Connection], T]
    loop: asyncio.AbstractEventLoop
    done: Callable[[T | None, Exception | None], None]
    result: T | None = None
    error: Exception | None = None


class Database:
    """A database file, opened at the first use; other processes may also have it open."""

    def __init__(
        self,
        path: Path,
        schemas: Schemas | Callable[[], Schemas],
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        only_writes_make_it: bool = False,
    ) -> None:
        """Configure the database without opening it; the first read or write opens it, and failures are retried.

        `schemas` has the migrations of each component in order, each an SQL script; a released migration is never
        edited. With `only_writes_make_it`, reads return the content of empty tables if the file does not exist.
        """
        self.path = path
        self.problem = ""  # why opening or the last commit failed; health checks report it
        self.failures = 0  # total of failed commits
        self._schemas = schemas
        self._busy_timeout_s = busy_timeout_s
        self._only_writes_make_it = only_writes_make_it
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._gate = threading.Lock()  # after `_closed` is set, nothing is put into `_jobs`
        self._closed = False
        self._opening = threading.Lock()
        self._writer: threading.Thread | None = None  # runs while the file is open
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-read")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._empty: list[sqlite3.Connection] = []  # in memory

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction and return its result after the commit is durable.

        An exception of `work` rolls back only its own changes and is raised here. Raises DatabaseError. The result must
        not be a cursor: dropping it would end a statement that another thread is running.
        """
        if self._writer is None:
            await self._open()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(work, partial(_settle, future))
        return await future

    async def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run one statement in a transaction, and return the number of rows that it changed."""
        return await self.write(lambda connection: connection.execute(sql, values).rowcount)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object] | Mapping[str, object]]) -> None:
        """Run one statement for each row, in one transaction."""
        await self.write(lambda connection: connection.executemany(sql, rows).close())

    def submit(
        self, work: Callable[[sqlite3.Connection], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Enqueue `work` as `write` does, in an open database; `done` gets its result or its error."""
        job = _Job(work, asyncio.get_running_loop(), done)
        with self._gate:
            if self._closed:
                raise self._is_closed()
            self._jobs.put(job)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a separate connection; it sees everything committed before."""
        is_there = self._writer is not None or not self._only_writes_make_it or self.path.exists()
        if self._writer is None and is_there:
            await self._open()
        if self._closed:
            raise self._is_closed()
        read = self._read if is_there else self._read_nothing
        return await asyncio.get_running_loop().run_in_executor(self._readers, read, work)

    async def aclose(self) -> None:
        """Finish all waiting writes, then close all connections."""
        with self._gate:
            if not self._closed:
                self._jobs.put(None)
            self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        with self._opening:  # an opening in progress starts the writer
            pass
        if self._writer:
            self._writer.join()
        self._readers.shutdown(wait=True)
        self._close_all()
        for connection in self._empty:
            connection.close()

    async def _open(self) -> None:
        # While another process locks the file, this takes seconds; the event loop continues meanwhile.
        await asyncio.to_thread(self._open_once)

    def _open_once(self) -> None:
        with self._opening:
            if self._writer:
                return
            if self._closed:
                raise self._is_closed()
            try:
                connection = self._prepare()
            except DatabaseError as error:
                self.problem = error.sentence()
                raise
            self.problem = ""
            self._writer = threading.Thread(
                target=self._write_forever, args=[connection], name="sqlite-write", daemon=True
            )
            self._writer.start()

    def _prepare(self) -> sqlite3.Connection:
        """Open or create the file and migrate the tables of each component."""
        try:
            make_directory(self.path.parent)
            self.path.touch(mode=0o600)
            connection = self._connect()
            _use_wal(connection, self._busy_timeout_s)
            self.migrate(connection, self._schemas() if callable(self._schemas) else self._schemas)
        except BaseException as error:
            self._close_all()
            if isinstance(error, OSError | sqlite3.Error):
                raise _failure(self.path, error) from None
            raise
        return connection

    def migrate(self, connection: sqlite3.Connection, schemas: Schemas) -> None:
        """Make the tables of each component, or bring them up to date; most tests copy the tables instead."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
            )
            for component, scripts in schemas.items():
                version = _version(connection, component, len(scripts), self.path)
                for script in scripts[version:]:
                    for statement in _statements(script):
                        connection.execute(statement)
                if version < len(scripts):
                    connection.execute("INSERT OR REPLACE INTO migrations VALUES (?, ?)", [component, len(scripts)])
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def _close_all(self) -> None:
        while self._opened:
            self._opened.pop().close()

    def _is_closed(self) -> DatabaseError:
        return DatabaseError(f"the database {self.path} is closed", hint="the program is shutting down")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        self._opened.append(connection)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous=FULL")  # a commit is on the disk, not only in the kernel
        connection.execute("PRAGMA fullfsync=ON")  # macOS: and not only in the cache of the disk
        connection.executescript(f"PRAGMA cache_size=-{CACHE_KIB}; PRAGMA temp_store=MEMORY")
        return connection

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect()
                connection.execute("PRAGMA query_only=ON")
            return _checked(work(connection))
        except sqlite3.Error as error:
            raise _failure(self.path, error) from None

    def _read_nothing(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on empty tables in memory."""
        connection: sqlite3.Connection | None = getattr(self._local, "empty", None)
        if connection is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._empty.append(connection)
            connection.row_factory = sqlite3.Row
            self.migrate(connection, self._schemas() if callable(self._schemas) else self._schemas)
            connection.execute("PRAGMA query_only=ON")
            self._local.empty = connection
        return _checked(work(connection))

    def _write_forever(self, connection: sqlite3.Connection) -> None:
        closing = False
        while not closing:
            first = self._jobs.get()
            batch = [] if first is None else [first]
            closing = first is None
            while len(batch) < MAX_BATCH and not closing:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                closing = job is None
                if job is not None:
                    batch.append(job)
            if batch:
                self._commit(connection, batch)
                _tell(batch)

    def _commit(self, connection: sqlite3.Connection, batch: Sequence[_Job[Any]]) -> None:
        """Run all jobs in one transaction; if the commit fails, all of them have failed."""
        changes = connection.total_changes
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in batch:
                _run(connection, job, alone=len(batch) == 1)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = _failure(self.path, error)
            if not self.problem:  # once per outage
                log.error("cannot write to the database", extra={"reason": failure.sentence()})  # noqa: TRY400  # the sentence says it all
            self.problem = failure.sentence()
            self.failures += 1
            _roll_back(connection)
            for job in batch:
                job.error = failure
        else:
            if connection.total_changes != changes:  # an empty commit writes nothing and proves nothing
                self.problem = ""


def _run(connection: sqlite3.Connection, job: _Job[Any], *, alone: bool) -> None:
    """Run a job so that its failure rolls back only its own changes; a job that is `alone` needs no savepoint."""
    if not alone:
        connection.execute("SAVEPOINT job")
    try:
        job.result = _checked(job.work(connection))
    except Exception as error:  # raised again in the caller of the job
        if _primary_code(error) not in {None, *_JOB_FAULTS}:
            raise  # the disk or the file failed, not the job
        job.error = error
        for statement in ("ROLLBACK", "BEGIN") if alone else ("ROLLBACK TO job",):
            connection.execute(statement)
    if not alone:
        connection.execute("RELEASE job")


def _checked(result: T) -> T:
    if isinstance(result, sqlite3.Cursor):
        raise TypeError("a cursor must not leave the thread of its connection; fetch its rows")
    return result


def _primary_code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _roll_back(connection: sqlite3.Connection) -> None:
    try:
        connection.rollback()
    except sqlite3.Error:
        # The next BEGIN also fails and notifies its callers; the writer must continue until the disk works again.
        log.exception("a transaction cannot be rolled back")


def _tell(batch: Sequence[_Job[Any]]) -> None:
    """Notify the callers of the jobs, with one wake-up per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job[Any]]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:  # the event loop is closed, and its callers have ended
            log.debug("the caller of a write no longer waits")


def _resolve(jobs: Sequence[_Job[Any]]) -> None:
    for job in jobs:
        job.done(job.result, job.error)


def _settle(future: "asyncio.Future[T]", result: T | None, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(cast("T", result))


def _use_wal(connection: sqlite3.Connection, patience_s: float) -> None:
    """Switch to write-ahead logging; SQLite does not wait while several processes switch at once."""
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file; see `give_back`
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(BUSY_RETRY_S)


def _version(connection: sqlite3.Connection, component: str, known: int, path: Path) -> int:
    row = connection.execute("SELECT version FROM migrations WHERE component = ?", [component]).fetchone()
    version = int(row["version"]) if row else 0
    if version > known:
        raise DatabaseError(
            f"the database {path} was written by a newer version of Tocsin"
            f" ({component}: {version}, supported here: {known})",
            hint="install that version again, or restore the backup from before the upgrade",
        )
    return version


def _statements(script: str) -> list[str]:
    """Split a script into statements: `executescript` would commit in between."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return [*statements, pending] if pending.strip() else statements


def _failure(path: Path, error: Exception) -> DatabaseError:
    if isinstance(error, FileExistsError):  # of mkdir
        return DatabaseError(f"{path.parent} is not a directory", hint="choose another data directory")
    hint = _HINTS.get(_primary_code(error) or 0, "check the disk, and the permissions of the directory")
    why = getattr(error, "strerror", None) or error  # of the system without its number
    return DatabaseError(f"cannot use the database {path}: {why}", hint=hint)
