"""Cron jobs in a directory of their own, with a clock that only the test moves."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.waiting import eventually

from tocsin.assembly.full.services import run_engine
from tocsin.core.process.identity import own_identity
from tocsin.features.cron.feature import FEATURE
from tocsin.features.cron.model import KIND, CronJob, order_of
from tocsin.features.cron.scheduler import Scheduler
from tocsin.features.cron.service import CronJobs
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import Run, RunStatus, RunTrigger, new_run
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.stored_run import RunTask
from tocsin.testing.features import FeatureBench, open_feature

HUMAN = Caller.of("cli", "ana")


@dataclass
class Gate:
    """A command that ends when the test says so."""

    path: Path

    @property
    def command(self) -> str:
        return f"while [ ! -e {self.path} ]; do sleep 0.01; done"

    def open(self) -> None:
        self.path.touch()


@dataclass
class Crontab:
    """Open jobs, and the schedulers of this test; their messages go into `sent`."""

    bench: FeatureBench
    clock: SteppedClock

    def __post_init__(self) -> None:
        self.engine = run_engine(self.bench.app)

    @property
    def jobs(self) -> CronJobs:
        return self.bench.service

    async def add(
        self, schedule: str = "0 * * * *", command: str = "true", name: str = "job", **fields: Any
    ) -> CronJob:
        return await self.jobs.add({"name": name, "schedule": schedule, "command": command, **fields}, HUMAN)

    async def open_runs(self) -> int:
        """Return how many runs have begun and are not settled, or wait for their turn."""
        sql = "SELECT COUNT(*) FROM run_tasks"
        return int(await self.bench.app.database.read(lambda c: c.execute(sql).fetchone()[0]))

    async def with_output(self, job: CronJob, output: str) -> None:
        """Give a job a destination that is not checked, as one that was removed later."""
        await self.jobs.store.change(job.id, lambda j: replace(j, definition=replace(j.valid(), output=output)))

    async def begun(self, name: str) -> list[Run]:
        """Return the runs of a job that have begun."""
        return [run for run in await self.runs(name) if run.started_at is not None]

    def gate(self, name: str) -> "Gate":
        """Return a command that runs until it is let go."""
        return Gate(self.bench.app.settings.data_dir / f"gate-{name}")

    async def hold_back(self) -> None:
        """Make every start of a run fail, as a crash right before it would."""
        await self._execute(
            "CREATE TRIGGER held BEFORE UPDATE OF status ON runs BEGIN SELECT RAISE(ABORT, 'held'); END"
        )

    async def let_go(self) -> None:
        await self._execute("DROP TRIGGER held")

    async def _execute(self, sql: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql)

        await self.bench.app.database.write(work)

    async def leave_run_of_dead_process(self, source: str = "") -> None:
        """Record a run of a process that has ended, as one that was killed leaves it."""
        order = order_of(await self.jobs.get("job"), RunTrigger.API if source else RunTrigger.SCHEDULE, "scheduler")
        order = replace(order, source=source)
        run = new_run(order, RunStatus.RUNNING, self.clock.now())
        dead = own_identity().replace(":", "1:", 1)
        await sqlite_runs(self.bench.app.database).add(run, dead, RunTask())

    async def runs(self, name: str = "job", **fields: Any) -> list[Run]:
        """Return the runs of a job, the oldest first."""
        job = await self.jobs.store.get(name)
        return list((await self.jobs.runs().search(KIND, job.id, limit=200, **fields)).items)[::-1]

    async def statuses(self, name: str = "job") -> list[str]:
        return [str(run.status) for run in await self.runs(name)]


@dataclass
class Service:
    """A scheduler at work."""

    crontab: Crontab
    scheduler: Scheduler

    async def pass_time(self, seconds: float) -> None:
        """Let time pass for a scheduler that is never late, until it sleeps again."""
        clock, left = self.crontab.clock, seconds
        while left > 0:
            with suppress(sqlite3.IntegrityError):  # starts may be held back
                await self.crontab.engine.step()
            step = min(left, max(0.001, await clock.asleep()))
            clock.advance(step)
            left -= step
        await clock.asleep()

    async def quiet(self, name: str = "job") -> list[str]:
        """Wait until every run of a job has ended, is settled and has its audit entry; return their states."""

        async def ended() -> bool:
            self.crontab.clock.advance(0.01)
            await self.crontab.engine.step()
            return not await self.crontab.open_runs()

        await eventually(ended)
        # Whoever settled a run writes its entry when told that this is on the disk, which is before we are told.
        await self.crontab.bench.app.database.write(lambda _: None)
        return await self.crontab.statuses(name)


@asynccontextmanager
async def running(crontab: Crontab, holder: str = "", *, boot: str = "a boot") -> AsyncIterator[Service]:
    """Run a scheduler during the block."""
    scheduler = crontab.jobs.scheduler(holder, boot=lambda: boot)
    task = asyncio.create_task(scheduler.run())
    await crontab.clock.asleep()
    try:
        yield Service(crontab, scheduler)
    finally:
        scheduler.stop()
        while not task.done():
            crontab.clock.advance(1.0)
            await asyncio.sleep(0.005)
        await task


@asynccontextmanager
async def opened(folder: Path, env: Mapping[str, str] | None = None, **options: Any) -> AsyncIterator[Crontab]:
    clock = options.pop("clock", None) or SteppedClock()
    async with open_feature(FEATURE, folder, {"TZ": "UTC", **(env or {})}, clock=clock, **options) as bench:
        yield Crontab(bench, clock)


@pytest.fixture
async def crontab(tmp_path: Path) -> AsyncIterator[Crontab]:
    async with opened(tmp_path) as crontab:
        yield crontab


@pytest.fixture
def bench(crontab: Crontab) -> FeatureBench:
    return crontab.bench
