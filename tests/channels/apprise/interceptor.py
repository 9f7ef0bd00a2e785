"""The Internet for a process that goes through a proxy: whatever host it calls, this answers."""

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from tests.waiting import PATIENCE_S

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


@contextmanager
def intercepting(folder: Path, loop: asyncio.AbstractEventLoop) -> Iterator[tuple[Interceptor, Mapping[str, str]]]:
    """Run an interceptor in `loop`; yield it with the variables that send the calls of a process to it."""
    internet = Interceptor(trustme.CA(key_type=trustme.KeyType.ECDSA))
    certificates = folder / "authority.pem"
    internet.authority.cert_pem.write_to_path(certificates)
    starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(internet.serve, "127.0.0.1", 0), loop)
    server = starting.result(PATIENCE_S)
    proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    yield internet, {**dict.fromkeys(names, proxy), "REQUESTS_CA_BUNDLE": str(certificates)}
    loop.call_soon_threadsafe(server.close)
