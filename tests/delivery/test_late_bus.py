"""A Redis at the usual address that starts after the program is used, within a minute."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.waiting import eventually

from tocsin.assembly.full.receiving import Receiving, open_inbox
from tocsin.assembly.full.services import _bus
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, assemble
from tocsin.assembly.storage import open_stores
from tocsin.channels.contract import Tools
from tocsin.core.config.core_variables import REDIS_URL
from tocsin.delivery.bus.bus import publish
from tocsin.delivery.store import DeliveryFilter
from tocsin.testing.fakes import FakeClock, ScriptedTransport


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def late_redis(port: int) -> Iterator[RedisServer]:
    with TemporaryDirectory(prefix="redis-") as directory:
        server = RedisServer(Path(directory), port=str(port))
        yield server
        server.stop()


@pytest.fixture
async def app(tmp_path: Path, port: int, clock: FakeClock) -> AsyncIterator[App]:
    (tmp_path / "empty.env").touch()
    environ = {
        "TOCSIN_DATA_DIR": str(tmp_path),
        "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
        "REDIS_URL": f"redis://127.0.0.1:{port}/0",
    }
    settings, installed = load_settings(environ=environ, env_file=tmp_path / "empty.env")
    async with AsyncExitStack() as stack:
        stores = open_stores(settings, installed.features, stack, clock)
        # As on a machine where this is the usual address: nobody named it.
        unnamed = replace(settings, sources={n: where for n, where in settings.sources.items() if n != REDIS_URL.name})
        yield assemble(unnamed, installed, tools=lambda: Tools(ScriptedTransport(), clock), stores=stores, clock=clock)


async def test_a_redis_that_starts_later_is_taken_up_within_a_minute_and_told(
    app: App, clock: FakeClock, late_redis: RedisServer, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    taken_up: list[bool] = []
    bus = _bus(app, Receiving(open_inbox(app, [], lambda _: False), use_redis=lambda: taken_up.append(True)))
    assert bus is not None
    async with asyncio.TaskGroup() as group:
        group.create_task(bus.run())
        await eventually(lambda: len(clock.slept) > 3)
        assert bus.state == "off"
        assert taken_up == []
        assert max(clock.slept) <= 60
        late_redis.start()
        await eventually(lambda: bus.state == "ok")
        client = patient_redis(app.settings[REDIS_URL])
        await publish(client, "teamchat", {"target": "#ops", "message": "hello"})
        await client.aclose()

        async def is_queued() -> bool:
            return len((await app.outbox.store.search(DeliveryFilter())).items) == 1

        await eventually(is_queued)
        bus.stop()
    assert taken_up == [True]
    assert ["Redis" in record.message for record in caplog.records if "Redis" in record.message] == [True]


async def test_a_bus_that_never_found_a_redis_stops_at_once(app: App):
    bus = _bus(app, Receiving(open_inbox(app, [], lambda _: False)))
    assert bus is not None
    bus.stop()
    await bus.run()
    assert bus.state == "off"
