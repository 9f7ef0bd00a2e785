"""Runs in a database of their own, as this process and as another one see them."""

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.databases import copied_tables

from tocsin.core.process.beats import MIGRATIONS as PRESENCE
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.changes import MIGRATIONS as CHANGES
from tocsin.core.storage.database import Database
from tocsin.runs.model import Command, RunSpec, RunTrigger
from tocsin.runs.recorder import Work, command
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.sqlite.schema import MIGRATIONS
from tocsin.runs.store import RunStore
from tocsin.testing.fakes import FakeClock

__all__ = ["copied_tables"]

pytest.register_assert_rewrite("tests.runs.records_contract")

RUN_SCHEMAS = {"changes": CHANGES, "runs": MIGRATIONS, "presence": PRESENCE}
ENV = {"PATH": os.environ["PATH"]}
POLL_S = 0.01


def order(subject: str = "backup", **changes: object) -> RunSpec:
    return RunSpec("skill", subject, subject, RunTrigger.MANUAL, "tester", **changes)  # type: ignore[arg-type]


def shell(script: str, **changes: object) -> Work:
    return command(Command(("sh", "-c", script), ENV, **changes))  # type: ignore[arg-type]


@dataclass
class House:
    """A data directory, and any number of processes that use it."""

    folder: Path
    database: Database
    clock: FakeClock = field(default_factory=FakeClock)
    opened: list[Runs] = field(default_factory=list)

    @property
    def store(self) -> RunStore:
        return sqlite_runs(self.database)

    async def beats(self) -> dict[str, int]:
        """Return the signs of life of every process."""
        sql = "SELECT * FROM processes"
        return await self.database.read(lambda c: {row["identity"]: row["beat"] for row in c.execute(sql)})

    def process(self, identity: str = "", *, redact: Callable[[str], str] = str, settler: Any = None) -> Runs:
        """Return the runs of one process."""
        runs = Runs(
            self.store,
            self.folder / "runs",
            self.clock,
            Presence(SqliteBeats(self.database), self.clock, identity),
            redact=redact,
            settler=settler,
            poll_s=POLL_S,
        )
        self.opened.append(runs)
        return runs


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    house = House(tmp_path, database)
    yield house
    for runs in house.opened:
        await runs.aclose()
    await database.aclose()


@pytest.fixture
def runs(house: House) -> Runs:
    return house.process()
