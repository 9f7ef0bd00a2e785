"""Runs in the database and in Redis: the contract of both, and what only Redis has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer, private_redis, redis_server  # noqa: F401
from tests.runs.conftest import RUN_SCHEMAS
from tests.runs.records_contract import OpenStore, RecordsContract, made

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import open_redis
from tocsin.runs.model import RunStatus
from tocsin.runs.redis.records import FORMAT, redis_runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import RunTask


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
    client = open_redis(url)
    yield redis_runs(client, home, prefix=prefix)
    await client.aclose()


class TestRedisRuns(RecordsContract):
    """Runs the contract over a real server; each test has a prefix of its own."""

    @pytest.fixture
    def open_store(self, redis_server: RedisServer) -> OpenStore:  # noqa: F811
        prefix = f"test-{new_id()}"
        return lambda: runs_of_host(redis_server.url, prefix)


async def test_a_run_belongs_to_the_host_that_begins_it(redis_server: RedisServer):  # noqa: F811
    prefix, run = f"test-{new_id()}", made(RunStatus.QUEUED, home="")
    async with runs_of_host(redis_server.url, prefix, "a") as a, runs_of_host(redis_server.url, prefix, "b") as b:
        await a.add(run, "", RunTask({"x": 1}))
        (row,) = await b.records.look("cron", lambda queue: list(queue.queued()))
        assert ((await b.get(run.id)).home, row.is_here) == ("a", False)
        claimed = await b.claim(run.id, "a process of b", 2.0)
        assert claimed is not None
        assert (claimed.was_at, claimed.run.home) == ("a", "b")


async def test_a_store_that_a_newer_version_has_written_is_refused(private_redis: RedisServer):  # noqa: F811
    async with runs_of_host(private_redis.url, "tocsin") as store:
        await store.add(made(), "me")
    private_redis.ask("SET", "{tocsin:runs}:format", str(FORMAT + 1))
    async with runs_of_host(private_redis.url, "tocsin") as store:
        with pytest.raises(StoreUnavailableError, match="newer version"):
            await store.add(made(), "me")
