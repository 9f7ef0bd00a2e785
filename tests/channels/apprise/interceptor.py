"""The Internet for a process that goes through a proxy: whatever host it calls, this answers."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

_END = b"\r\n\r\n"


@dataclass
class Interceptor:
    """A proxy that plays every server itself; `status` and `body` are the next answers, status 0 is a reset."""

    authority: trustme.CA
    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str, bytes]] = field(default_factory=list)  # host, path, body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            host = ""
            while True:
                head = (await reader.readuntil(_END)).decode("latin-1")
                method, target, _ = head.split(" ", 2)
                if method == "CONNECT":
                    host = target.rpartition(":")[0]
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await writer.start_tls(self._context(host))
                    continue
                length = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                body = await reader.readexactly(int(length[0].partition(":")[2])) if length else b""
                self._note(host, target, body)
                if not self.status:
                    writer.transport.abort()
                    return
                lines = [f"HTTP/1.1 {self.status} Status", f"Content-Length: {len(self.body)}", "Connection: close"]
                lines += [f"{name}: {value}" for name, value in self.headers.items()]
                writer.write("\r\n".join(lines).encode() + _END + self.body)
                await writer.drain()
                return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    def _note(self, host: str, target: str, body: bytes) -> None:
        if not host:  # of a call without TLS, a proxy gets the whole address
            host, _, path = target.partition("://")[2].partition("/")
            target = f"/{path}"
        self.calls.append((host, target, body))

    def _context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(host).configure_cert(context)
        return context


@asynccontextmanager
async def intercepting(folder: Path, environment: pytest.MonkeyPatch) -> AsyncIterator[Interceptor]:
    """Send the calls of processes that start within the block to an interceptor."""
    internet = Interceptor(trustme.CA(key_type=trustme.KeyType.ECDSA))
    certificates = folder / "authority.pem"
    internet.authority.cert_pem.write_to_path(certificates)
    server = await asyncio.start_server(internet.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        environment.setenv(name, address)
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "CURL_CA_BUNDLE"):
        environment.delenv(name, raising=False)
    environment.setenv("REQUESTS_CA_BUNDLE", str(certificates))
    try:
        yield internet
    finally:
        server.close()
        await server.wait_closed()
