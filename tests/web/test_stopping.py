"""How a service stops: everything in it finishes within one bound, told by the order of events."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.ports import free_port
from tests.waiting import eventually
from tests.web.conftest import TEAMCHAT, accepted, make_app
from tests.web.test_serving import exchange, request

from tocsin.assembly.full.services import serve as serve_program
from tocsin.core.http.transport import HttpResponse
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.model import DeliveryStatus
from tocsin.messaging.outbound.caller import Caller
from tocsin.web.http.serving import Service, serve

JSON = "Content-Type: application/json"


class HeldTransport:
    """Answers each text when the test lets it; `asked` has what arrived."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.asked: list[str] = []

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", **_: Any
    ) -> HttpResponse:
        text = str(json.loads(body)["text"])
        self.asked.append(text)
        await self.gates.setdefault(text, asyncio.Event()).wait()
        return accepted()

    def let(self, text: str) -> None:
        self.gates.setdefault(text, asyncio.Event()).set()

    async def aclose(self) -> None:
        """Nothing is open."""


async def until_asked(transport: HeldTransport, *texts: str) -> None:
    await eventually(lambda: set(texts) <= set(transport.asked))


async def test_what_runs_beside_the_services_is_stopped_while_a_request_still_runs():
    events: list[str] = []
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await may_end.wait()
        events.append("the request ended")
        await Response()(scope, receive, send)

    def stop_the_rest() -> None:
        events.append("the rest was stopped")
        may_end.set()

    port = free_port()
    service = Service("test", "127.0.0.1", port, "PORT", lambda _: slow)
    ready = asyncio.Event()
    task = asyncio.create_task(serve([service], ready=lambda _: ready.set(), stopping=stop_the_rest))
    await ready.wait()
    answer = asyncio.create_task(exchange(port, request("GET", "/")))
    await begun.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await task
    await answer
    assert events == ["the rest was stopped", "the request ended"]


async def test_the_queue_stops_at_the_signal_and_not_when_the_last_request_has_ended(
    tmp_path: Path, database: Database
):
    transport, clock, port = HeldTransport(), SystemClock(), free_port()
    env = {**TEAMCHAT, "GATEWAY_PORT": str(port), "REDIS_URL": "off", "TEAMCHAT_CHUNK_AT": "100"}
    app = make_app(tmp_path, env, transport, clock, database)
    parts = ["a" * 90, "b" * 90]
    queued = app.outbox.prepare("teamchat", "#ops", "\n\n".join(parts), "test")
    (delivery,) = await app.outbox.enqueue([queued], Caller("test"))
    listening: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
    program = asyncio.create_task(serve_program(app, frozenset({"gateway"}), listening.set_result))
    await listening
    body = json.dumps({"channel": "teamchat", "target": "#direct", "message": "direct"}).encode()
    sent = request("POST", "/send", JSON, f"Content-Length: {len(body)}", body=body)
    direct = asyncio.create_task(exchange(port, sent))
    await until_asked(transport, parts[0], "direct")
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0)
    transport.let(parts[0])

    async def is_queued_again() -> bool:
        return (await app.outbox.store.get(delivery.id)).status is DeliveryStatus.QUEUED

    await eventually(is_queued_again)
    assert not direct.done()
    assert (await app.outbox.store.get(delivery.id)).parts_sent == 1
    transport.let("direct")
    head, _ = await direct
    assert head.startswith(b"HTTP/1.1 200 ")
    await program
    assert parts[1] not in transport.asked
