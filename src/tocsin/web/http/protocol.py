"""Limits that uvicorn lacks: duration, size and number of the requests of a connection.

The only module that uses private names of uvicorn; tests/house/test_private_names.py lists them.
"""

import logging
import re
from asyncio import Transport
from http import HTTPStatus
from typing import Any

import httptools
from starlette.types import Message
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tocsin.core.ids import new_id
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.connections import ConnectionLimits
from tocsin.web.http.refusals import RefusalLog

log = logging.getLogger(__name__)

# 1 MiB in 30 s is 35 kB/s; a slower connection occupies a descriptor and memory. Each further MiB, of a form with
# files, has as long again.
ARRIVAL_TIMEOUT_S = 30.0
TIMED_BYTES = 1024 * 1024
# Consecutive bytes without body content: a head, the extension of a chunk, trailer fields.
MAX_OVERHEAD_BYTES = 64 * 1024
MAX_HEADER_LINES = 100
MAX_PIPELINED = 16
# Each chunk costs as much as a request's first bytes: many tiny chunks are an attack, not a message.
FREE_CHUNKS, LEAST_CHUNK_BYTES = 1024, 256
# Data after the last response, and the rest of a request that was answered early, is read and discarded: closing with
# unread data resets the connection, and the response is lost.
LINGER_S = 2.0
MAX_LINGER_BYTES = 1024 * 1024

# The bodies of error responses, by status.
_REASONS = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in HTTPStatus
    if status >= 200 and status not in {204, 304}
}
_UNUSUAL = frozenset({b"connection", b"transfer-encoding"})
_CONTROLS = re.compile(b"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class BoundedProtocol(HttpToolsProtocol):
    """The HTTP protocol whose requests must arrive complete and in time, or the connection is closed.

    A request that arrives in one piece, as almost all do, costs no timer.
    """

    arrival_timeout_s = ARRIVAL_TIMEOUT_S
    timed_bytes = TIMED_BYTES

    def __init__(
        self, *args: Any, limits: ConnectionLimits | None = None, refusals: RefusalLog | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.peer = ""
        self.waiting_since: float | None = self.loop.time()
        self._limits = limits or ConnectionLimits()
        self._refusals = refusals or RefusalLog(self.loop.time)
        self._running: RequestResponseCycle | None = None
        self._in_head = False
        self._arriving = False
        self._overhead_bytes = self._body_bytes = self._chunks = 0
        self._lingered_bytes = -1  # negative while the connection accepts requests
        self._deadline: Any = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # only TCP comes here
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else "unknown"
        if not self._limits.admit(self):
            self._refuse_connection()
            return
        self._start_deadline(self.arrival_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.release(self)
        self._stop_deadline()
        super().connection_lost(exc)
        super()._unset_keepalive_if_required()

    def cut_off(self) -> None:
        """Close the connection immediately."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._lingered_bytes >= 0:
            self._throw_away(data)
            return
        self._overhead_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The client asked for an upgrade: this request is answered as HTTP/1.1, and the data after it is not
            # HTTP.
            self.cycle.keep_alive = False
            self._linger()
        except httptools.HttpParserError as error:
            self._refuse_request(error.__context__)
        else:
            self._bound_arrival()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _RefusedError(f"More than {MAX_PIPELINED} requests were pipelined without waiting for a response.")
        super().on_message_begin()
        scope: Any = self.scope
        scope["tocsin.cut_off"] = self.cut_off  # for streams: a stalled client would delay their end
        self._in_head = self._arriving = True
        self._overhead_bytes = self._body_bytes = self._chunks = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer field: no proxy in front has treated it as a header
        if len(self.headers) >= MAX_HEADER_LINES:
            raise _RefusedError(f"The request has more than {MAX_HEADER_LINES} header lines.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_head = False

    def on_chunk_header(self) -> None:
        """Count a chunk; uvicorn ignores it."""
        self._chunks += 1
        if self._chunks > FREE_CHUNKS and self._body_bytes < self._chunks * LEAST_CHUNK_BYTES:
            raise _RefusedError(f"The body has chunks smaller than {LEAST_CHUNK_BYTES} bytes.")

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = 0
        if (self._body_bytes + len(body)) // self.timed_bytes > self._body_bytes // self.timed_bytes:
            self._stop_deadline()  # the next one begins with the end of this data
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._arriving = False
        if not self.cycle.response_complete:
            self.waiting_since = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        another = bool(self.pipeline)
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if another:
                self._start_asgi_task(*self.pipeline.pop())
            elif self.timeout_keep_alive_task is None:
                self._look_when_idle(self.timeout_keep_alive)
        if another and not self._arriving:
            return
        self.waiting_since = self.loop.time()
        if not another and self._arriving and self.expect_100_continue and not self.transport.is_closing():
            self._linger()  # the client may now omit the body, and a next request would be taken for it

    def send_400_response(self, msg: str) -> None:
        """Respond to data that is not HTTP with a problem document, too."""
        self._write_and_close(b"400 Bad Request", HttpProblemError("invalid-request", msg))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        send = WholeAnswer(cycle).send
        super()._start_asgi_task(cycle, lambda scope, receive, _: app(scope, receive, send))

    def _unset_keepalive_if_required(self) -> None:
        """Keep the timer: uvicorn would create a new one for every request."""

    def _look_when_idle(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle long enough, otherwise check again when it could be."""
        self.timeout_keep_alive_task = None
        if self._lingered_bytes >= 0 or self.transport.is_closing():
            return
        idle_since = self.loop.time() if self._arriving or self.waiting_since is None else self.waiting_since
        left_s = idle_since + self.timeout_keep_alive - self.loop.time()
        if left_s > 0:
            self._look_when_idle(left_s)
        else:
            self.transport.close()

    def _bound_arrival(self) -> None:
        if not self._arriving:
            self._stop_deadline()
            return
        self._start_deadline(self.arrival_timeout_s)
        if self._overhead_bytes > MAX_OVERHEAD_BYTES or (self._is_answered() and self._body_bytes > MAX_LINGER_BYTES):
            self.transport.abort()

    def _is_answered(self) -> bool:
        """Return True if the request whose body arrives already has a response, such as a 401."""
        return self._arriving and not self._in_head and self.cycle.response_complete

    def _refuse_request(self, cause: BaseException | None) -> None:
        """Respond to a request that is not HTTP, after the responses due to earlier ones."""
        reason = str(cause) if isinstance(cause, _RefusedError) else "Invalid HTTP request received."
        if self._refusals.admits(self.peer, reason):
            log.warning("a request was rejected", extra={"ip": self.peer, "reason": reason})
        if self._is_answered():
            self.transport.close()
            return
        running, self._arriving = self._running, False
        if running is None or running.response_complete or (running.more_body and not running.response_started):
            self.send_400_response(reason)
            return
        # Otherwise this 400 would be taken for the response to an earlier request.
        self.pipeline.clear()
        running.keep_alive = False
        self._linger()

    def _refuse_connection(self) -> None:
        problem = HttpProblemError(
            "not-ready", "Too many open connections. Try again later.", headers={"Retry-After": "1"}
        )
        self._write_and_close(b"503 Service Unavailable", problem)

    def _write_and_close(self, status: bytes, problem: HttpProblemError) -> None:
        self._arriving = False
        response = problem.response(new_id())
        headers = [*response.raw_headers, (b"connection", b"close")]
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 %b\r\n%b\r\n%b" % (status, head, bytes(response.body)))
        self.transport.close()

    def _linger(self) -> None:
        """Accept no further request; after the last response, leave the client time to read it."""
        self._lingered_bytes = 0
        self._stop_deadline()
        if self._running is None or self._running.response_complete:
            self.transport.write_eof()
            self._start_deadline(LINGER_S)

    def _throw_away(self, data: bytes) -> None:
        self._lingered_bytes += len(data)
        if self._lingered_bytes > MAX_LINGER_BYTES:
            self.transport.abort()

    def _start_deadline(self, seconds: float) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, self._too_late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        self.transport.abort()


class _RefusedError(Exception):
    """A request is well-formed but exceeds a limit; the text is for the client."""


class WholeAnswer:
    """The `send` of one request that writes the head and the body of a response at once.

    uvicorn writes them separately: two system calls, and often two packets. It still writes streams, the end of the
    connection, and all unusual responses.
    """

    __slots__ = ("_cycle", "_start")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Hold back the start of a response until its body is available."""
        start, self._start = self._start, None
        if start is None:
            if message["type"] == "http.response.start" and not self._cycle.response_started:
                self._start = message
                return
        elif self._write_at_once(start, message):
            return
        else:
            await self._cycle.send(start)  # type: ignore[arg-type]  # uvicorn types messages more narrowly
        await self._cycle.send(message)  # type: ignore[arg-type]  # uvicorn types messages more narrowly

    def _write_at_once(self, start: Message, message: Message) -> bool:
        """Write the response if it is a simple one; return True if written."""
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
        """Return the head of a response whose body has `length` bytes; `None` if it is not a simple one."""
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
        # A line break within a header would split it into two; uvicorn rejects it and other control characters.
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or _CONTROLS.search(head):
            return None
        return head + b"\r\n"
