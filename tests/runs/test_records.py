"""Runs in the database and in Redis: the contract of both, and what only Redis has."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.runs.conftest import RUN_SCHEMAS
from tests.runs.records_contract import OpenStore, RecordsContract, made
from tests.waiting import eventually

from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.process.beats import RedisBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.messaging.outbound.output_routing import OutputRouter
from tocsin.runs.engine.overlap import StartPolicy
from tocsin.runs.engine.run_type import DelayedRun, RunType
from tocsin.runs.engine.settling import RunSettler, SettlerDependencies
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import Run, RunOutput, RunResult, RunSpec, RunStatus, RunTrigger
from tocsin.runs.recorder import RunHandle
from tocsin.runs.redis.records import FORMAT, redis_runs
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import RunTask
from tocsin.testing.fakes import FakeClock


class TestSqliteRuns(RecordsContract):
    """Runs the contract over one database file."""

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        @asynccontextmanager
        async def opened() -> AsyncIterator[RunStore]:
            database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
            yield sqlite_runs(database)
            await database.aclose()

        return opened


@asynccontextmanager
async def runs_of_host(url: str, prefix: str, home: str = "here") -> AsyncIterator[RunStore]:
    client = patient_redis(url)
    yield redis_runs(client, home, prefix=prefix)
    await client.aclose()


class TestRedisRuns(RecordsContract):
    """Runs the contract over a real server; each test has a prefix of its own."""

    @pytest.fixture
    def open_store(self, redis_server: RedisServer) -> OpenStore:
        prefix = f"test-{new_id()}"
        return lambda: runs_of_host(redis_server.url, prefix)


async def test_a_run_belongs_to_the_host_that_works_on_it(redis_server: RedisServer):
    prefix, run = f"test-{new_id()}", made(RunStatus.QUEUED, home="")
    async with runs_of_host(redis_server.url, prefix, "a") as a, runs_of_host(redis_server.url, prefix, "b") as b:
        await a.add(run, "", RunTask({"x": 1}))
        assert (await b.get(run.id)).home == "a"
        at_home = StartPolicy(at_home=True)
        assert not (await b.begin_queued("cron", "a process of b", 2.0, lambda _: at_home)).begun
        assert (await a.begin_queued("cron", "a process of a", 2.0, lambda _: at_home)).begun == [run.id]
        await a.release(run.id, "a process of a")
        claimed = await b.claim(run.id, "a process of b")
        assert claimed is not None
        assert (claimed.was_at, claimed.run.home) == ("a", "b")


class Retried(RunType):
    kind, source = "cron", "test"

    def retry(self, run: Run, now: float) -> DelayedRun:
        return DelayedRun(made(RunStatus.QUEUED, home="", retry_of=run.id), now)


async def test_the_retry_of_a_run_that_another_host_settles_stays_on_its_own_host(
    redis_server: RedisServer, tmp_path: Path
):
    prefix, run = f"test-{new_id()}", made(RunStatus.QUEUED, home="")
    async with runs_of_host(redis_server.url, prefix, "a") as a, runs_of_host(redis_server.url, prefix, "b") as b:
        await a.add(run, "", RunTask())
        await a.begin_queued("cron", "a process of a", 2.0, lambda _: StartPolicy())
        ended = await a.finish(run.id, RunResult(RunStatus.INTERRUPTED), RunOutput(), 3.0)
        audit = AuditTrail(AuditLog(tmp_path / "audit.log"))
        settler = RunSettler(SettlerDependencies(b, _no_output, audit, FakeClock(), lambda _kind, _params: Retried()))
        await settler.settle(ended)
        (retry,) = (await b.search(RunFilter("cron", status=(RunStatus.QUEUED,)))).items
        assert (retry.retry_of, retry.home) == (run.id, "a")


def _no_output() -> OutputRouter:
    raise AssertionError("there is no message")


async def test_a_store_that_a_newer_version_has_written_is_refused(private_redis: RedisServer):
    async with runs_of_host(private_redis.url, "tocsin") as store:
        await store.add(made(), "me")
    private_redis.ask("SET", "{tocsin:runs}:format", str(FORMAT + 1))
    async with runs_of_host(private_redis.url, "tocsin") as store:
        with pytest.raises(StoreUnavailableError, match="newer version"):
            await store.add(made(), "me")


async def test_a_queued_run_is_adopted_when_its_host_is_silent_for_a_minute(redis_server: RedisServer, tmp_path: Path):
    prefix, clock, run = f"test-{new_id()}", FakeClock(), made(RunStatus.QUEUED, home="", retry_of="an earlier one")
    client = patient_redis(redis_server.url)

    def process(host: str) -> Runs:
        presence = Presence(RedisBeats(client, prefix=prefix), clock, f"a process of {host}")
        return Runs(redis_runs(client, host, prefix=prefix), tmp_path / host, clock, presence)

    a, b = process("a"), process("b")
    await a.store.enqueue([run], not_before=5.0)

    async def begins_on_b() -> bool:
        step = await b.store.begin_queued("cron", b.owner, 5.0, lambda _: StartPolicy(at_home=True))
        return step.begun == [run.id]

    for _ in range(8):
        await a.recover()
        await b.recover()
        assert not await begins_on_b(), "its host is alive"
        clock.advance(20)
    for _ in range(4):
        await b.recover()
        clock.advance(20)
    assert await begins_on_b()
    await client.aclose()


@asynccontextmanager
async def left_unrecorded(redis: RedisServer, folder: Path, poll_s: float) -> AsyncIterator[tuple[Runs, Run]]:
    """Yield the runs of a process, and one that ended while Redis was away, which is back."""
    clock, client = FakeClock(), patient_redis(redis.url)
    runs = Runs(redis_runs(client, "here"), folder, clock, Presence(RedisBeats(client), clock, "me"), poll_s=poll_s)

    async def work(_: RunHandle) -> RunResult:
        redis.kill()
        return RunResult(RunStatus.SUCCEEDED)

    run = await runs.execute(RunSpec("skill", "it", "it", RunTrigger.MANUAL), work)
    assert run.status is RunStatus.SUCCEEDED
    redis.start()
    yield runs, run
    await runs.aclose()
    await client.aclose()


async def test_an_end_is_recorded_when_the_store_is_there_again(private_redis: RedisServer, tmp_path: Path):
    async with left_unrecorded(private_redis, tmp_path, poll_s=0.01) as (runs, run):

        async def is_recorded() -> bool:
            try:
                return (await runs.store.get(run.id)).status is RunStatus.SUCCEEDED
            except StoreUnavailableError:
                return False

        await eventually(is_recorded)


async def test_an_end_may_be_recorded_by_two_tasks_at_the_same_time(private_redis: RedisServer, tmp_path: Path):
    async with left_unrecorded(private_redis, tmp_path, poll_s=0.2) as (runs, run):
        await asyncio.gather(runs.aclose(), runs.aclose())
        assert (await runs.store.get(run.id)).status is RunStatus.SUCCEEDED
