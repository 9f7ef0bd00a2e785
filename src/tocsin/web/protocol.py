"""What uvicorn leaves open to a stranger on the wire: how long and how much of a request may take to arrive."""

from asyncio import Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tocsin.core.ids import new_id
from tocsin.web.problems import Problem

# 1 MiB in 30 s is 35 kB/s; a connection that takes longer holds a descriptor and memory for nothing.
ARRIVAL_TIMEOUT_S = 30.0
MAX_HEAD_BYTES = 64 * 1024


class BoundedProtocol(HttpToolsProtocol):
    """HTTP whose requests arrive whole and in time, or the connection is closed.

    A request that comes in one piece, as nearly every one does, costs no timer.
    """

    arrival_timeout_s = ARRIVAL_TIMEOUT_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arriving = False
        self._head_bytes = -1  # of the head that is arriving; negative while none is
        self._deadline: Any = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._arriving:
            self._stop_deadline()
            return
        self._start_deadline()
        if self._head_bytes >= 0:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._head_bytes = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arriving = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with a problem document too."""
        self._arriving = False
        response = Problem("invalid-request", msg).response(new_id())
        headers = [*response.raw_headers, (b"connection", b"close")]
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%b\r\n%b" % (head, bytes(response.body)))
        self.transport.close()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.arrival_timeout_s, self._too_late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        self.transport.abort()
