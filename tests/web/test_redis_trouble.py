"""Webhook calls while Redis cannot store anything: refused so that the provider repeats them, and none is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.channels.teamchat.calls import SECRET, event, signed
from tests.delivery.conftest import RedisServer
from tests.web.asgi_client import Client
from tests.web.conftest import SCHEMAS, TEAMCHAT, accepted, make_app, parts_of

from tocsin.core.storage.database import Database
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import build_gateway

TROUBLE = {
    "LOADING Redis is loading the dataset in memory": "is still loading its data",
    "MISCONF Redis is configured to save RDB snapshots": "cannot write to its disk",
    "READONLY You can't write against a read only replica.": "is a read-only replica",
    "OOM command not allowed when used memory > 'maxmemory'.": "has reached its maxmemory",
    "": "cannot connect",
}


class Front:
    """Stands before a server, and refuses every command while `refusal` is set."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self.refusal: str | None = None
        self.serving: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.add(asyncio.create_task(self.serve(reader, writer)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_unix_connection(str(self._server.socket))
        answers = asyncio.create_task(self._answer(behind, writer))
        try:
            while command := await _command(reader):
                if self.refusal is None:
                    ahead.write(command)
                elif self.refusal:
                    writer.write(f"-{self.refusal}\r\n".encode())
                else:
                    break
        finally:
            answers.cancel()
            ahead.close()
            writer.close()

    async def _answer(self, behind: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await behind.read(65_536):
            writer.write(data)


async def _command(reader: asyncio.StreamReader) -> bytes:
    try:
        raw = await reader.readuntil(b"\r\n")
        for _ in range(int(raw[1:])):
            size = await reader.readuntil(b"\r\n")
            raw += size + await reader.readexactly(int(size[1:]) + 2)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    return raw


@asynccontextmanager
async def front_of(server: RedisServer) -> AsyncIterator[tuple[Front, str]]:
    front = Front(server)
    served = await asyncio.start_server(front.accept, "127.0.0.1", 0)
    try:
        yield front, f"redis://127.0.0.1:{served.sockets[0].getsockname()[1]}/0"
    finally:
        served.close()
        for task in front.serving:
            task.cancel()
        await asyncio.gather(*front.serving, return_exceptions=True)


async def test_while_redis_stores_nothing_calls_get_503_and_count_once_when_they_are_repeated(
    unsaved_redis: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    unsaved_redis.ask("FLUSHALL")
    clock, database = FakeClock(), Database(tmp_path / "tocsin.db", SCHEMAS)
    async with front_of(unsaved_redis) as (front, url):
        env = {**TEAMCHAT, "TEAMCHAT_SIGNING_SECRET": SECRET, "STORE": "redis", "REDIS_URL": url}
        app = make_app(tmp_path, env, ScriptedTransport([accepted()]), clock, database)
        client = Client(build_gateway(parts_of(app, clock)))

        async def call(number: int) -> int:
            request = signed(event(number, event_id=f"Ev{number}"), clock.now())
            answer = await client.request("POST", "/webhook/teamchat", *request.headers, body=[request.body])
            return answer.status

        for number, (refusal, said) in enumerate(TROUBLE.items()):
            front.refusal = refusal
            assert await call(number) == 503
            assert said in caplog.records[-1].__dict__["reason"]
            assert unsaved_redis.ask("ZCARD", "{tocsin:inbox}:all") == f":{number}", "nothing of it is stored"
            front.refusal = None
            assert [await call(number) for _ in range(2)] == [200, 200]
            assert unsaved_redis.ask("ZCARD", "{tocsin:inbox}:all") == f":{number + 1}"
        await app.stores.buckets.aclose()
        await app.redis.aclose()
        await database.aclose()
