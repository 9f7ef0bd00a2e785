"""Fast JSON responses, written in one piece, for the hot routes."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.types import Message, Receive, Scope, Send

from tocsin.core.text.compact_json import to_json

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

# Answers that have a body, by status.
_REASONS = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in HTTPStatus
    if status >= 200 and status not in {204, 304}
}
_UNUSUAL = frozenset({b"connection", b"transfer-encoding"})
_CONTROLS = re.compile(b"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class JsonResponse:
    """A JSON answer that nobody keeps, as an ASGI application; starlette's takes three times as long."""

    __slots__ = ("body", "raw_headers", "status")

    def __init__(self, document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.body = to_json(document).encode()
        self.status = status
        self.raw_headers = [
            (b"cache-control", b"no-store"),
            *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()),
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", b"application/json"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


class WholeAnswer:
    """The `send` of one request that writes the head and the body of an answer at once.

    uvicorn writes them one after the other: two system calls, and often two packets. It still writes
    what is streamed, ends the connection, or is unusual in any other way.
    """

    __slots__ = ("_cycle", "_start")

    def __init__(self, cycle: "RequestResponseCycle") -> None:
        self._cycle = cycle
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Hold the start of an answer back until its body is there."""
        start, self._start = self._start, None
        if start is None:
            if message["type"] == "http.response.start" and not self._cycle.response_started:
                self._start = message
                return
        elif self._written(start, message):
            return
        else:
            await self._cycle.send(start)  # type: ignore[arg-type]  # uvicorn types messages more narrowly
        await self._cycle.send(message)  # type: ignore[arg-type]  # uvicorn types messages more narrowly

    def _written(self, start: Message, message: Message) -> bool:
        """Write the answer if it is a usual one; return whether it was."""
        cycle, body = self._cycle, message.get("body", b"")
        if message.get("more_body") or cycle.disconnected or cycle.flow.write_paused or not cycle.keep_alive:
            return False
        head = None if cycle.scope["method"] == "HEAD" else self._head(start, len(body))
        if head is None:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(head + body)
        cycle.message_event.set()
        cycle.on_response()
        return True

    def _head(self, start: Message, length: int) -> bytes | None:
        """Return the head of an answer whose body has `length` bytes, None where it is not a usual one."""
        reason = _REASONS.get(start["status"])
        if reason is None:
            return None
        headers = [*self._cycle.default_headers, *start["headers"]]
        if (b"content-length", b"%d" % length) not in headers:
            return None
        lines = [reason]
        for name, value in headers:
            if name in _UNUSUAL:
                return None
            lines.append(b"%b: %b\r\n" % (name, value))
        head = b"".join(lines)
        # A line break within a header would make two of one; uvicorn refuses it and other control characters.
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or _CONTROLS.search(head):
            return None
        return head + b"\r\n"
