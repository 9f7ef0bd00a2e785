"""HTTP over asyncio: a pool of connections, responses parsed by httptools.

Not aiohttp, whose import takes longer than a whole `tocsin send` and whose calls take four times the processor time
(docs/decisions/0003).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import cached_property
from typing import Any, TypeVar, cast

import httptools

from tocsin.core.errors import RemoteError
from tocsin.core.http.addresses import is_address
from tocsin.core.http.bodies import StreamedBody
from tocsin.core.http.departure import note_departure
from tocsin.core.http.proxy import HINT, Tunnel, authorization_header, proxy_for
from tocsin.core.http.request_head import RequestTarget, bracketed, in_full, parse_target, request_head
from tocsin.core.http.transport import (
    CALL_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    MAX_BODY_BYTES,
    READ_TIMEOUT_S,
    HttpResponse,
    certificate_refused,
    connect_failed,
    describe_os_error,
    outcome_unknown,
)

P = TypeVar("P", bound=asyncio.BaseProtocol)

# Below the idle timeout of providers, so that a reused connection is rarely being closed.
KEEPALIVE_S = 10.0
MAX_CONNECTIONS = 256
# In addition to the body: headers, and the sizes of small chunks; endless headers must not fill the memory.
MAX_FRAMING_BYTES = 7 * MAX_BODY_BYTES
# The other address family is tried after that: RFC 8305, section 5.
NEXT_ADDRESS_S = 0.25


class DirectTransport:
    """Makes calls over pooled connections, through a proxy if the environment selects one."""

    def __init__(
        self,
        *,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        check_address: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Configure the transport; `check_address` gets each address first, and raises if it is forbidden."""
        self._connect_timeout_s = connect_timeout_s
        self._check_address = check_address
        self._guarded: list[DirectTransport] = []
        self._idle: dict[str, list[Connection]] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | StreamedBody = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        """Make a call and return the response, as `Transport` promises."""
        place = parse_target(url)
        proxy = proxy_for(place.origin)
        deadline = asyncio.get_running_loop().time() + timeout_s
        if proxy and not place.secure:
            message = request_head(method, in_full(place), {**headers, **authorization_header(proxy)}, len(body))
        else:
            message = request_head(method, place, headers, len(body))
        upload = None
        if isinstance(body, bytes):
            message += body
        else:
            upload = body
        note_departure(possible=False)
        async with self._slots:
            limit_s = min(self._connect_timeout_s, timeout_s)
            connection = self._take(place.origin) or await self._connect(place, proxy, url, limit_s)
            try:
                call = RequestCycle(asyncio.get_running_loop(), url, deadline, read_timeout_s, max_body_bytes)
                return await connection.exchange(message, call, upload)
            finally:
                self._give_back(place.origin, connection)

    def guarded(self, check_address: Callable[[str], None]) -> "DirectTransport":
        """Return a transport that checks each address before it connects; it is usable while this one is open."""
        made = DirectTransport(connect_timeout_s=self._connect_timeout_s, check_address=check_address)
        self._guarded.append(made)
        return made

    async def aclose(self) -> None:
        for guarded in self._guarded:
            await guarded.aclose()
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _take(self, origin: str) -> "Connection | None":
        """Return the most recently used connection, if one is still fresh."""
        connections = self._idle.get(origin)
        while connections:
            connection = connections.pop()
            if connection.is_fresh():
                return connection
            connection.close()
        return None

    def _give_back(self, origin: str, connection: "Connection") -> None:
        if not connection.reusable:
            connection.close()
            return
        connections = self._idle.setdefault(origin, [])
        while connections and not connections[0].is_fresh():
            connections.pop(0).close()
        connections.append(connection)

    async def _connect(self, place: RequestTarget, proxy: str | None, url: str, limit_s: float) -> "Connection":
        try:
            async with asyncio.timeout(limit_s):
                return await (self._through(proxy, place, url) if proxy else self._straight(place))
        except TimeoutError:
            raise connect_failed(url, f"no connection within {limit_s:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise certificate_refused(url, error.verify_message) from None
        except ssl.SSLError:
            raise connect_failed(url, "TLS failed") from None
        except OSError as error:
            raise connect_failed(url, describe_os_error(error)) from None
        except UnicodeError:
            raise connect_failed(url, "the address is invalid") from None

    async def _straight(self, place: RequestTarget) -> "Connection":
        sock = await _open_socket(place, self._check_address)
        return (await self._enter(Connection, sock, place))[1]

    async def _through(self, proxy: str, place: RequestTarget, url: str) -> "Connection":
        """Connect through `proxy`; a tunnel is requested only if the call is encrypted."""
        if is_address(place.host):  # a name is looked up by the proxy
            self._check_address(place.host)
        door = parse_target(proxy)
        try:
            sock = await _open_socket(door)
            if not place.secure:
                return (await self._enter(Connection, sock, door))[1]
            transport, tunnel = await self._enter(lambda: Tunnel(url), sock, door)
        except OSError as error:
            reason = "TLS failed" if isinstance(error, ssl.SSLError) else describe_os_error(error)
            raise connect_failed(url, f"the proxy {door.authority}: {reason}", HINT) from None
        try:
            await tunnel.open(transport, f"{bracketed(place.host)}:{place.port}", proxy)
            connection = Connection()
            loop = asyncio.get_running_loop()
            inner = await loop.start_tls(transport, connection, self._tls, server_hostname=place.host)
        except BaseException:
            transport.abort()
            raise
        connection.connection_made(cast("asyncio.Transport", inner))  # which `start_tls` leaves to its caller
        return connection

    async def _enter(self, make: Callable[[], P], sock: socket.socket, place: RequestTarget) -> tuple[Any, P]:
        tls = self._tls if place.secure else None
        return await asyncio.get_running_loop().create_connection(
            make, sock=sock, ssl=tls, server_hostname=place.host if tls else None
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The verifying context; created when first needed because it loads all root certificates."""
        return ssl.create_default_context()


class Connection(asyncio.Protocol):
    """A connection; it carries one call at a time."""

    def __init__(self) -> None:
        self.reusable = False
        self._loop = asyncio.get_running_loop()
        self._call: RequestCycle | None = None
        self._used_at = 0.0
        self._in_step = True  # false once a request was not sent completely
        self._paused: asyncio.Future[None] | None = None  # while the server takes nothing
        # One timer for many calls: each ends long before it is checked.
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class does not derive from it

    async def exchange(self, message: bytes, call: "RequestCycle", upload: StreamedBody | None = None) -> HttpResponse:
        """Send a request and return the response; an interrupted body is returned as far as it arrived."""
        self.reusable = False
        self._call = call
        self._look_at(call.due())
        note_departure(possible=True)
        self._transport.write(message)
        try:
            if upload is not None:
                await self._upload(upload, call)
            reply = await call.answer
        finally:
            self._call = None
            call.release()
        self.reusable = call.keeps_alive and self._in_step and not self._transport.is_closing()
        self._used_at = self._loop.time()
        return reply

    async def _upload(self, upload: StreamedBody, call: "RequestCycle") -> None:
        """Send the blocks as fast as the server takes them; stop if it responds before the end."""
        sent = 0
        async with aclosing(upload.blocks()) as blocks:
            async for block in blocks:
                if call.answer.done():
                    break
                sent += len(block)
                self._transport.write(block)
                if self._paused is not None:
                    await asyncio.wait((self._paused, call.answer), return_when=asyncio.FIRST_COMPLETED)
                call.sent_more()
        self._in_step = sent == upload.length
        if not self._in_step and not call.answer.done():
            raise RemoteError("the content of a file changed while it was sent", hint="send the message again")

    def pause_writing(self) -> None:
        self._paused = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._paused is not None:
            self._paused.set_result(None)
            self._paused = None

    def is_fresh(self) -> bool:
        """Whether the connection is open and was used recently."""
        return self.reusable and self._loop.time() - self._used_at < KEEPALIVE_S

    def close(self) -> None:
        """Drop the connection at once: pending responses are no longer wanted."""
        self.reusable = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._call is None:  # no request is open, so this is not a response
            self.close()
        else:
            self._call.feed(data)

    def eof_received(self) -> None:
        self.reusable = False

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        if self._timer is not None:
            self._timer.cancel()
        if self._call is not None:
            self._call.end_of_stream(broken=error is not None)

    def _look_at(self, due: float) -> None:
        """Make sure that the call is checked no later than at `due`."""
        if self._timer is None or self._timer.when() > due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._call is not None and not self._call.is_overdue():
            self._look_at(self._call.due())


class RequestCycle:
    """A request that waits for its response; httptools calls the methods that begin with `on_`.

    It ends at `deadline`, a time of the event loop, or when nothing was received for `patience_s`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        url: str,
        deadline: float,
        patience_s: float,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.answer: asyncio.Future[HttpResponse] = loop.create_future()
        self.keeps_alive = False
        self._loop = loop
        self._url = url
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._received = 0
        self._parser: Any = httptools.HttpResponseParser(self)
        self._deadline = deadline
        self._patience_s = patience_s
        self._max_body_bytes = max_body_bytes
        self._heard_at = loop.time()

    def due(self) -> float:
        """Return the time of the event loop at which the call times out unless data arrives."""
        return min(self._deadline, self._heard_at + self._patience_s)

    def is_overdue(self) -> bool:
        """Time the call out if it is overdue, and return whether it was."""
        overdue = self._loop.time() >= self.due()
        if overdue:
            self._break_off("did not respond in time")
        return overdue

    def sent_more(self) -> None:
        """Note that the server takes the request."""
        self._heard_at = self._loop.time()

    def release(self) -> None:
        """Release the parser, which references this object: else each call waits for the garbage collector."""
        self._parser = None

    def feed(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._break_off("sent an invalid HTTP response")
        if len(self._body) > self._max_body_bytes or self._received > self._max_body_bytes + MAX_FRAMING_BYTES:
            self._break_off("did not stop sending")

    def end_of_stream(self, *, broken: bool) -> None:
        """Handle the end of the connection; without a length, it ends the body (RFC 9112, section 6.3)."""
        has_length = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._status and not broken and not has_length:
            self._finish(complete=True)
        else:
            self._break_off("closed the connection")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.answer.done():
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if not self.answer.done():
            self._status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if not self.answer.done():
            self._body += body

    def on_message_complete(self) -> None:
        if self.answer.done():  # a second response to one request: the connection is out of step
            self.keeps_alive = False
        elif self._status < 200:  # an interim response, RFC 9110 section 15.2: the final one follows
            self._status = 0
            self._headers = {}
        else:
            self.keeps_alive = self._parser.should_keep_alive()
            self._finish(complete=True)

    def _finish(self, *, complete: bool) -> None:
        if not self.answer.done():
            body = bytes(self._body[: self._max_body_bytes])
            # The end may arrive together with the first excess bytes.
            whole = complete and len(self._body) <= self._max_body_bytes
            self.answer.set_result(HttpResponse(self._status, self._headers, body, whole))

    def _break_off(self, reason: str) -> None:
        """End the call without a complete response; a received status says more than a missing body."""
        self.keeps_alive = False
        if self._status:
            self._finish(complete=False)
        elif not self.answer.done():
            self.answer.set_exception(outcome_unknown(self._url, reason))


async def _open_socket(place: RequestTarget, check_address: Callable[[str], None] = lambda _: None) -> socket.socket:
    """Connect to the first reachable address of the host, with both address families in parallel."""
    from aiohappyeyeballs import start_connection

    loop = asyncio.get_running_loop()
    host = place.host if place.host.isascii() else place.host.encode("idna")
    found = await loop.getaddrinfo(host, place.port, type=socket.SOCK_STREAM)
    for *_, address in found:
        check_address(str(address[0]))
    return await start_connection(found, happy_eyeballs_delay=NEXT_ADDRESS_S)
