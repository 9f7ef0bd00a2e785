"""A full disk, or Redis at its memory limit, while files are stored: a clear error, nothing lost, nothing left."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.chaos.limits import small_disk, why_no_small_disk
from tests.delivery.conftest import RedisServer
from tests.waiting import PATIENCE_S
from tests.web.asgi_client import Client
from tests.web.conftest import TEAMCHAT, MakeGateway, make_app, parts_of
from tests.web.test_send_files import ASYNC, file, form, message, post

from tocsin.assembly.program import App
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.delivery.store import DeliveryFilter
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import build_gateway

LARGE = os.urandom(1_000_000)


async def names_of_queued(app: App) -> list[str]:
    """Return the names of the files of all queued messages, the oldest first, once each content can be read."""
    found = (await app.outbox.store.search(DeliveryFilter())).items[::-1]
    files = [each for delivery in found for each in delivery.content["attach"]]
    for each in files:
        assert sum([len(block) async for block in app.files().read(each["hash"])]) == each["size"]
    return [each["name"] for each in files]


@pytest.mark.parametrize("headers", [(), (ASYNC,)], ids=["direct", "queued"])
async def test_a_full_disk_refuses_a_file_with_a_503_and_leaves_no_part_of_it(
    make_gateway: MakeGateway, tmp_path: Path, headers: tuple[tuple[str, str], ...]
):
    if reason := why_no_small_disk(tmp_path):
        pytest.skip(reason)
    with small_disk(tmp_path / "files", "4m"):
        gateway = make_gateway()
        assert (await post(gateway.client, form(message(), file("a.log", LARGE)), ASYNC)).status == 202
        filler = tmp_path / "files" / "filler"
        filler.write_bytes(bytes(2_700_000))
        for _ in range(3):
            answer = await post(gateway.client, form(message(), file("b.log", LARGE[::-1])), *headers)
            assert answer.status == 503, answer.json()
            assert "free some disk space" in answer.body.decode()
        assert list((tmp_path / "files" / "tmp").iterdir()) == []
        assert (await names_of_queued(gateway.app), gateway.transport.sent) == (["a.log"], [])
        filler.unlink()
        assert (await post(gateway.client, form(message(), file("b.log", LARGE[::-1])), ASYNC)).status == 202
        assert await names_of_queued(gateway.app) == ["a.log", "b.log"]


@pytest.fixture
async def on_redis(private_redis: RedisServer, tmp_path: Path, database: Database) -> AsyncIterator[tuple[Client, App]]:
    env = {**TEAMCHAT, "STORE": "redis", "REDIS_URL": private_redis.url}
    app = make_app(tmp_path, env, ScriptedTransport(), FakeClock(), database)
    yield Client(build_gateway(parts_of(app, app.clock))), app
    await app.redis.aclose()


async def test_redis_at_its_limit_refuses_a_file_with_a_503_and_keeps_no_part_of_it(
    on_redis: tuple[Client, App], private_redis: RedisServer
):
    client, app = on_redis
    assert (await post(client, form(message(), file("a.log", LARGE)), ASYNC)).status == 202
    redis: RedisClient = open_redis(private_redis.url, answer_timeout_s=PATIENCE_S)
    keys = set(await redis.command("KEYS", "*"))
    used = int((await redis.info())["used_memory"])
    private_redis.ask("CONFIG", "SET", "maxmemory", str(used + 600_000))
    for _ in range(3):
        answer = await post(client, form(message(), file("b.log", LARGE[::-1])), ASYNC)
        assert answer.status == 503, answer.json()
        assert "has reached its maxmemory" in answer.body.decode()
    assert set(await redis.command("KEYS", "{tocsin:file*")) <= keys
    assert await names_of_queued(app) == ["a.log"]
    private_redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert (await post(client, form(message(), file("b.log", LARGE[::-1])), ASYNC)).status == 202
    assert await names_of_queued(app) == ["a.log", "b.log"]
    await redis.aclose()
