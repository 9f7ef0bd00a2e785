"""Runs in the database: what is asked for all the time costs the same however many runs there are."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.runs.conftest import RUN_SCHEMAS
from tests.runs.records_contract import made

from tocsin.core.storage.database import Database
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import ACTIVE, RunStatus
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.stored_run import StoredRun

T = TypeVar("T")
MANY = 3000


class CountedDatabase(Database):
    """Counts the steps that SQLite makes to read, which no load of the machine changes."""

    hundreds = 0

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def tick() -> None:
            self.hundreds += 1

        def counted(connection: sqlite3.Connection) -> T:
            connection.set_progress_handler(tick, 100)
            try:
                return work(connection)
            finally:
                connection.set_progress_handler(None, 0)

        return await super().read(counted)


@pytest.fixture
async def many(tmp_path: Path) -> AsyncIterator[CountedDatabase]:
    """Return a database with many runs of one kind, all ended long ago."""
    database = CountedDatabase(tmp_path / "tocsin.db", lambda: RUN_SCHEMAS)
    ended = [made(RunStatus.SUCCEEDED, f"job {n % 100}") for n in range(MANY)]
    await sqlite_runs(database).records.enqueue([StoredRun(run) for run in ended])
    yield database
    await database.aclose()


async def test_what_is_asked_all_the_time_does_not_go_through_all_runs(many):
    store = sqlite_runs(many)
    asked = {
        "active": lambda: store.records.active(ACTIVE),
        "at work": lambda: store.records.look("cron", lambda queue: queue.at_work()),
        "queued": lambda: store.records.look("cron", lambda queue: queue.queued()),
        "left": store.left,
        "unsettled": lambda: store.unsettled(2000.0, 200),
        "last": lambda: store.records.pasts("cron", ["job 7"], 20),
        "newest": lambda: store.search(RunFilter("cron", limit=5)),
        "ended lately": lambda: store.count(RunFilter(status=(RunStatus.SUCCEEDED,), since=2000.0)),
    }
    steps = {}
    for name, ask in asked.items():
        before = many.hundreds
        await ask()
        steps[name] = 100 * (many.hundreds - before)
    assert {name: found for name, found in steps.items() if found >= MANY} == {}
