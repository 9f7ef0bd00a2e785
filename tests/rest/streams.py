"""A client of an event stream: what a browser's EventSource would hand to a page."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message
from tests.waiting import eventually


@dataclass
class StreamClient:
    """Reads one stream; `id` is what it would send as `Last-Event-ID`."""

    head: Message = field(default_factory=dict)
    raw: bytes = b""
    events: list[tuple[str, Any]] = field(default_factory=list)
    id: str = ""
    comments: int = 0
    retry_ms: int = 0
    has_ended: bool = False
    held: int = 0  # messages that are on their way to it
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    takes: asyncio.Event = field(default_factory=asyncio.Event)  # not set: it reads nothing

    def feed(self, data: bytes) -> None:
        """Read what arrived, as the standard has it."""
        self.raw += data
        while b"\n\n" in self.raw:
            block, _, self.raw = self.raw.partition(b"\n\n")
            self._dispatch(block.decode())

    def _dispatch(self, block: str) -> None:
        name, data = "message", ""
        for line in block.split("\n"):
            key, _, value = line.partition(": ")
            match key:
                case "id":
                    self.id = value
                case "event":
                    name = value
                case "data":
                    data += value
                case "retry":
                    self.retry_ms = int(value)
                case "":
                    self.comments += 1
        if data:
            self.events.append((name, json.loads(data)))

    async def got(self, count: int) -> list[tuple[str, Any]]:
        """Wait until there are so many events, and return them."""
        await eventually(lambda: len(self.events) >= count, lambda: self.events)
        return self.events

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.held += 1
        await self.takes.wait()
        self.held -= 1
        if message["type"] == "http.response.start":
            self.head = message
            return
        self.feed(message["body"])
        self.has_ended = not message.get("more_body", False)


@asynccontextmanager
async def connected(app: ASGIApp, *, slow: bool = False, **scope: Any) -> AsyncIterator[StreamClient]:
    """Connect to a stream; at the end the client goes, and the stream has to end."""
    client = StreamClient()
    if not slow:
        client.takes.set()
    whole = {"type": "http", "method": "GET", "path": "/", "headers": [], **scope}
    answering = asyncio.create_task(app(whole, client.receive, client.send))
    try:
        if not slow:
            await eventually(lambda: client.retry_ms or client.has_ended or answering.done())
        yield client
    finally:
        client.takes.set()
        client.gone.set()
        await answering
