"""Clients of POST /send: many at once, on kept connections, through crashes of the other side."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import httptools
from tests.waiting import PATIENCE_S, eventually

RETRY_S = 0.02


@dataclass(frozen=True, slots=True)
class Message:
    """A message with an id of its own; `plan` is what the provider shall do to its tries."""

    id: str
    channel: str
    target: str
    policy: str = ""
    plan: Sequence[str] = ()
    keyed: bool = False

    @property
    def text(self) -> str:
        """What is sent."""
        return json.dumps({"id": self.id, "plan": list(self.plan)} if self.plan else {"id": self.id})

    def request(self) -> bytes:
        """Return the request that queues it."""
        body = {"channel": self.channel, "target": self.target, "message": self.text}
        if self.policy:
            body["policy"] = self.policy
        payload = json.dumps(body).encode()
        key = f"Idempotency-Key: {self.id}\r\n" if self.keyed else ""
        head = (
            "POST /send HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Prefer: respond-async\r\n{key}Content-Length: {len(payload)}\r\n\r\n"
        )
        return head.encode() + payload


@dataclass(slots=True)
class Accepted:
    """What came back: the delivery of each acknowledged message, and what was left without an answer."""

    ids: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, Message] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0


class Connection(asyncio.Protocol):
    """One connection that is asked one thing at a time."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._fresh()

    def _fresh(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        status, body = self._parser.get_status_code(), self._body
        self._fresh()
        if self._waiting and not self._waiting.done():
            self._waiting.set_result((status, body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError("the gateway is gone"))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and return status and body."""
        if self.transport.is_closing():
            raise ConnectionResetError("the gateway is gone")
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await asyncio.wait_for(self._waiting, PATIENCE_S)


async def queue_all(
    port: int, messages: Iterator[Message], *, clients: int = 32, until: Callable[[], bool] = lambda: False
) -> Accepted:
    """Queue messages until there are no more, or `until` says so; one without an answer is not repeated."""
    accepted = Accepted()
    started = time.perf_counter()
    await asyncio.gather(*(_client(port, messages, accepted, until) for _ in range(clients)))
    accepted.seconds = time.perf_counter() - started
    return accepted


async def _client(port: int, messages: Iterator[Message], accepted: Accepted, until: Callable[[], bool]) -> None:
    connection: Connection | None = None
    try:
        while not until():
            connection = connection or await _connect(port, until)
            message = next(messages, None) if connection else None
            if connection is None or message is None:
                return
            begun = time.perf_counter()
            try:
                status, body = await connection.ask(message.request())
            except (OSError, TimeoutError):
                accepted.unanswered[message.id] = message
                connection.transport.abort()
                connection = None
                continue
            accepted.latencies.append(time.perf_counter() - begun)
            if status == 202:
                answer: dict[str, Any] = json.loads(body)
                accepted.ids[message.id] = answer["id"]
            else:
                accepted.unanswered[message.id] = message
                accepted.refused.append(f"{message.id}: {status} {body[:200]!r}")
    finally:
        if connection:
            connection.transport.abort()


async def _connect(port: int, until: Callable[[], bool]) -> Connection | None:
    while not until():
        try:
            _, made = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
        except OSError:
            await asyncio.sleep(RETRY_S)
        else:
            return made
    return None


async def repeat_unanswered(port: int, accepted: Accepted) -> None:
    """Repeat keyed messages that got no answer until each has one: the same key makes no second delivery."""
    refused: list[str] = []

    async def answered() -> bool:
        keyed = [message for message in accepted.unanswered.values() if message.keyed]
        again = await queue_all(port, iter(keyed))
        accepted.ids |= again.ids
        for id_ in again.ids:
            del accepted.unanswered[id_]
        refused[:] = again.refused
        if again.unanswered:
            await asyncio.sleep(0.25)
        return not again.unanswered

    await eventually(answered, lambda: f"not accepted: {refused[:3]}")
