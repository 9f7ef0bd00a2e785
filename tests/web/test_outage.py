"""An outage in a running program: two lines in the log, and the state in /health."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.web.conftest import GOOD, TEAMCHAT, accepted, make_app
from tests.web.test_serving import exchange, free_port, request

from tocsin.assembly.full.services import serve
from tocsin.core.http.transport import HttpResponse
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.testing.fakes import ScriptedTransport


async def test_an_outage_is_two_lines_in_the_log_and_a_field_of_health(
    tmp_path: Path, database: Database, caplog: pytest.LogCaptureFixture
):
    transport, port = ScriptedTransport([HttpResponse(503, {}, b"")]), free_port()
    env = {**TEAMCHAT, "GATEWAY_PORT": str(port), "REDIS_URL": "off"}
    app = make_app(tmp_path, env, transport, SystemClock(), database)
    listening: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
    program = asyncio.create_task(serve(app, frozenset({"gateway"}), listening.set_result))
    await listening
    body = json.dumps(GOOD).encode()
    sent = request("POST", "/send", "Content-Type: application/json", f"Content-Length: {len(body)}", body=body)

    async def failing() -> list[str]:
        _, health = await exchange(port, request("GET", "/health"))
        return list(json.loads(health).get("failing", {}))

    with caplog.at_level(logging.WARNING, "tocsin.messaging.outbound.channel_watch"):
        for _ in range(3):
            await exchange(port, sent)
        assert await failing() == ["teamchat"]
        transport.script = [accepted()]
        await exchange(port, sent)
        assert await failing() == []
    told = [
        record.getMessage() for record in caplog.records if record.name == "tocsin.messaging.outbound.channel_watch"
    ]
    assert told == ["a channel cannot deliver", "a channel delivers again"]
    os.kill(os.getpid(), signal.SIGTERM)
    await program
