"""A load of kept connections: each sends its next request as soon as the last one was answered."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from functools import partial

import httptools


@dataclass(slots=True)
class Load:
    """What came back: requests answered with 200, all others, seconds."""

    answered: int = 0
    errors: int = 0
    seconds: float = 0.0
    statuses: set[int] = field(default_factory=set)


class _Client(asyncio.Protocol):
    def __init__(self, request: bytes, load: Load, budget: list[int], done: asyncio.Future[None]) -> None:
        self._request, self._load, self._budget, self._done = request, load, budget, done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._parser = httptools.HttpResponseParser(self)
        self._next()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        self._load.statuses.add(status)
        if status == 200:
            self._load.answered += 1
        else:
            self._load.errors += 1
        self._parser = httptools.HttpResponseParser(self)
        asyncio.get_running_loop().call_soon(self._next)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._load.errors += 1
            self._done.set_result(None)

    def _next(self) -> None:
        if self._budget[0] <= 0:
            if not self._done.done():
                self._done.set_result(None)
            self._transport.close()
            return
        self._budget[0] -= 1
        self._transport.write(self._request)  # type: ignore[attr-defined]


async def run(
    port: int,
    body: dict[str, str],
    *,
    requests: int,
    connections: int = 64,
    path: str = "/send",
    authorization: str = "",
) -> Load:
    """Send `requests` POSTs of `body` over `connections` connections; bounded to 120 s."""
    payload = json.dumps(body).encode()
    login = f"Authorization: {authorization}\r\n" if authorization else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{login}"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    load = Load()
    budget = [requests]
    waits = [loop.create_future() for _ in range(connections)]
    started = time.perf_counter()
    for done in waits:
        await loop.create_connection(partial(_Client, head.encode() + payload, load, budget, done), "127.0.0.1", port)
    async with asyncio.timeout(120):
        await asyncio.gather(*waits)
    load.seconds = time.perf_counter() - started
    return load
