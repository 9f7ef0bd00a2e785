"""HTTP for a command that makes one call and ends.

Importing aiohttp takes longer than the whole of such a command (docs/decisions/0003), so it opens
one connection with asyncio and lets httptools parse the answer.
"""

import asyncio
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httptools

from tocsin.core.http import (
    CALL_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    MAX_BODY_BYTES,
    READ_TIMEOUT_S,
    Reply,
    Transport,
    certificate_refused,
    connect_failed,
    host_of,
    origin_of,
    outcome_unknown,
    proxy_for,
    reason_of,
)

# With room for headers, and for the sizes of small chunks; an endless head must not fill the memory.
MAX_ANSWER_BYTES = 8 * MAX_BODY_BYTES


class SingleTransport:
    """Carries out each call over a connection of its own; hands over to aiohttp behind a proxy."""

    def __init__(self, *, connect_timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._proxied: Transport | None = None

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> Reply:
        """See `Transport.request`."""
        if proxy_for(origin_of(url)):
            return await self._pooled().request(
                method, url, headers=headers, body=body, timeout_s=timeout_s, read_timeout_s=read_timeout_s
            )
        deadline = asyncio.get_running_loop().time() + timeout_s
        head = _head(method, url, headers, len(body))
        reader, writer = await _connect(url, min(self._connect_timeout_s, timeout_s))
        answer = _Answer()
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(head + body)
                await _read(reader, answer, read_timeout_s)
        except TimeoutError:
            if not answer.status:
                raise outcome_unknown(url, "did not answer in time") from None
        except httptools.HttpParserError:
            if not answer.status:
                raise outcome_unknown(url, "sent something that is not HTTP") from None
        except OSError:
            if not answer.status:
                raise outcome_unknown(url, "closed the connection") from None
        finally:
            writer.transport.abort()
        if not answer.status:
            raise outcome_unknown(url, "closed the connection")
        return answer.reply()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._proxied:
            await self._proxied.aclose()

    def _pooled(self) -> Transport:
        if self._proxied is None:
            from tocsin.core.http_pooled import PooledTransport

            self._proxied = PooledTransport(connect_timeout_s=self._connect_timeout_s)
        return self._proxied


class _Answer:
    """Collects what httptools reports."""

    def __init__(self) -> None:
        self.status = 0
        self.complete = False
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._size = 0
        self.parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        self.parser.feed_data(data)

    @property
    def too_long(self) -> bool:
        return len(self._body) > MAX_BODY_BYTES or self._size > MAX_ANSWER_BYTES

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.complete:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if not self.complete:
            self.status = self.parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self._body += body

    def on_message_complete(self) -> None:
        if 100 <= self.status < 200:  # interim (RFC 9110, section 15.2): the answer itself follows
            self.status = 0
            self._headers = {}
        else:
            self.complete = True

    def reply(self) -> Reply:
        return Reply(self.status, self._headers, bytes(self._body[:MAX_BODY_BYTES]), self.complete)


async def _connect(url: str, timeout_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    context = ssl.create_default_context() if parts.scheme == "https" else None
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.open_connection(parts.hostname, parts.port or (443 if context else 80), ssl=context)
    except TimeoutError:
        raise connect_failed(url, f"no connection within {timeout_s:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise certificate_refused(url, error.verify_message) from None
    except ssl.SSLError:
        raise connect_failed(url, "TLS failed") from None
    except OSError as error:
        raise connect_failed(url, reason_of(error)) from None
    except UnicodeError:
        raise connect_failed(url, "the address is not valid") from None


def _head(method: str, url: str, headers: Mapping[str, str], length: int) -> bytes:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host_of(url)}", "Accept: */*", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if length or method != "GET":
        lines.append(f"Content-Length: {length}")
    if any(character in line for line in lines for character in "\r\n\0"):
        raise ValueError("a line break in a header or an address of a request")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _read(reader: asyncio.StreamReader, answer: _Answer, read_timeout_s: float) -> None:
    while not answer.complete and not answer.too_long:
        async with asyncio.timeout(read_timeout_s):
            chunk = await reader.read(65536)
        if not chunk:
            _end_of_stream(answer)
            return
        answer.feed(chunk)


def _end_of_stream(answer: _Answer) -> None:
    """A body without a length ends with the connection; with one, it broke off."""
    headers = answer.reply().headers
    if answer.status and "content-length" not in headers and "transfer-encoding" not in headers:
        answer.complete = True
