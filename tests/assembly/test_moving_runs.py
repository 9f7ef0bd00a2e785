"""Runs that an earlier version kept in the database move to Redis once, by one process at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from tests.clocks import SteppedClock
from tests.delivery.conftest import RedisServer
from tests.waiting import eventually

from tocsin.assembly.full.services import _run_maintenance
from tocsin.assembly.light import load_settings
from tocsin.assembly.migration.movable_runs import MovableRuns, move_under_lease
from tocsin.assembly.program import App, assemble
from tocsin.assembly.storage import open_stores
from tocsin.channels.contract import Tools
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import Run, RunSpec, RunStatus, RunTrigger, new_run
from tocsin.runs.redis.records import RedisRunRecords
from tocsin.runs.sqlite.records import SqliteRunRecords, sqlite_runs
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import begin
from tocsin.scheduling.lease import MOVE_RUNS, Lease
from tocsin.status.services import scheduler_service
from tocsin.testing.fakes import ScriptedTransport


class Host:
    """One process whose store is Redis, beside a database with the runs of an earlier version."""

    def __init__(self, app: App, clock: SteppedClock) -> None:
        self.app = app
        self.clock = clock
        self.old = sqlite_runs(app.database)

    @property
    def new(self) -> RunStore:
        return self.app.stores.runs()

    def lease(self, holder: str) -> Lease:
        return Lease(self.app.database, MOVE_RUNS, self.clock, holder, is_dead=lambda _: False)

    async def move(self, holder: str) -> None:
        await move_under_lease(SqliteRunRecords(self.app.database), self.new.records, self.lease(holder), self.clock)

    async def leave(self) -> Run:
        """Leave a queued run in the database."""
        run = new_run(RunSpec("skill", "backup", "backup", RunTrigger.MANUAL), RunStatus.QUEUED, 1.0)
        await self.old.add(run, "")
        return run

    async def begin_elsewhere(self, run: Run) -> None:
        """Let another host begin a run in Redis."""
        await self.new.records.change(run.id, lambda record: begin(record, "another host", 2.0))


@pytest.fixture
async def host(tmp_path: Path, private_redis: RedisServer) -> AsyncIterator[Host]:
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "STORE": "redis", "REDIS_URL": private_redis.url}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    clock = SteppedClock()
    async with AsyncExitStack() as stack:
        stores = open_stores(settings, installed.features, stack, clock)
        tools = partial(Tools, ScriptedTransport(), clock)
        app = assemble(settings, installed, tools=tools, stores=stores, clock=clock)
        for part in (app.presence, app.features, app.runs):
            stack.push_async_callback(part.aclose)
        yield Host(app, clock)


async def test_a_second_process_waits_until_the_first_has_moved_the_runs(host: Host):
    run, first = await host.leave(), host.lease("first")
    assert await first.keep()
    second = asyncio.create_task(host.move("second"))
    await host.clock.asleep()
    assert (await host.old.count(RunFilter()), await host.new.count(RunFilter())) == (1, 0)
    await first.release()
    host.clock.advance(1)
    await second
    assert (await host.old.count(RunFilter()), [(await host.new.get(run.id)).status]) == (0, [RunStatus.QUEUED])


async def test_moving_runs_does_not_make_the_scheduler_look_as_if_it_ran(host: Host):
    await host.leave()
    assert await host.lease("").keep()
    assert (await scheduler_service(host.app.database)).status == "disabled"


async def test_a_killed_move_goes_on_without_changing_the_runs_that_have_moved(host: Host):
    first, second = await host.leave(), await host.leave()
    [record] = await MovableRuns(host.old.records).oldest(1)
    await host.new.records.add(record)  # killed before it is removed from the database
    await host.begin_elsewhere(record.run)
    await host.move("next")
    states = {run.id: (await host.new.get(run.id)).status for run in (first, second)}
    assert states == {first.id: RunStatus.RUNNING, second.id: RunStatus.QUEUED}
    assert await host.old.count(RunFilter()) == 0


async def test_a_process_that_was_stopped_in_between_neither_doubles_nor_changes_a_run(host: Host):
    class Outdated(RedisRunRecords):
        """As seen before another process moved the run."""

        async def several(self, run_ids: Sequence[str]) -> list[Run]:
            return []

    run = await host.leave()
    seen = await MovableRuns(host.old.records).oldest(1)
    await host.move("another")
    await host.begin_elsewhere(run)
    await MovableRuns(Outdated(host.app.redis(), "here")).take_in(seen)
    assert (await host.new.count(RunFilter()), (await host.new.get(run.id)).status) == (1, RunStatus.RUNNING)


async def test_runs_that_could_not_be_moved_at_the_start_are_moved_later(host: Host):
    maintenance = asyncio.create_task(_run_maintenance(host.app))
    await host.clock.asleep()
    await host.leave()

    async def moved() -> bool:
        host.clock.advance(1)
        return await host.old.count(RunFilter()) == 0

    await eventually(moved)
    assert await host.new.count(RunFilter()) == 1
    maintenance.cancel()
    await asyncio.wait({maintenance})
