"""Documents: one text for all processes, each change as a whole, on both stores."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.document import MIGRATIONS, ChannelDocument, SqliteDocument
from tocsin.core.storage.documents.redis_document import RedisDocument


@pytest.fixture(params=["sqlite", "redis"])
async def processes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[ChannelDocument]]:
    """The same document as two processes have it."""
    if request.param == "sqlite":
        databases = [Database(tmp_path / "t.db", {"documents": MIGRATIONS}) for _ in range(2)]
        yield [SqliteDocument(each, "webpush") for each in databases]
        for database in databases:
            await database.aclose()
    else:
        server: RedisServer = request.getfixturevalue("unsaved_redis")
        clients, name = [patient_redis(server.url), patient_redis(server.url)], uuid4().hex
        yield [RedisDocument(each, name) for each in clients]
        for client in clients:
            await client.aclose()


async def test_a_document_is_empty_until_it_is_changed(processes: list[ChannelDocument]):
    first, second = processes
    assert await first.read() == ""
    assert await first.change(lambda text: f"{text}é\n") == "é\n"
    assert await second.read() == "é\n"


async def test_changes_of_two_processes_at_once_are_all_kept(processes: list[ChannelDocument]):
    await asyncio.gather(*(each.change(lambda text: text + "x") for each in processes * 5))
    assert await processes[0].read() == "x" * 10


async def test_of_two_first_values_one_is_kept_by_both(processes: list[ChannelDocument]):
    kept = await asyncio.gather(*(each.change(lambda text, n=n: text or str(n)) for n, each in enumerate(processes)))
    assert len(set(kept)) == 1


async def test_an_edit_that_raises_changes_nothing(processes: list[ChannelDocument]):
    def fail(text: str) -> str:
        raise ValueError(text)

    await processes[0].change(lambda _: "kept")
    with pytest.raises(ValueError, match="kept"):
        await processes[0].change(fail)
    assert await processes[1].read() == "kept"


async def test_a_document_that_always_changes_meanwhile_is_reported(unsaved_redis: RedisServer):
    client, other, name = patient_redis(unsaved_redis.url), Redis.from_url(unsaved_redis.url), uuid4().hex

    def edit(text: str) -> str:
        other.incr(f"tocsin:documents:{name}")  # another process, before this change is stored
        return f"{text}x"

    with pytest.raises(StoreUnavailableError, match="too many processes"):
        await RedisDocument(client, name).change(edit)
    await client.aclose()
    other.close()
