"""Check whether a browser answers at an address."""

import asyncio
import os
import socket
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

_WITHIN_S = 2.0
_MAX_ANSWER = 64 * 1024
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
# Every browser with a debugging port tells this of itself. Source: the Chrome DevTools Protocol, "HTTP Endpoints".
_PATH, _SIGN = "/json/version", b'"webSocketDebuggerUrl"'


async def is_browser(port: int, host: str = "127.0.0.1", within_s: float = _WITHIN_S) -> bool:
    """Whether a browser answers on its debugging port."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(within_s):
            return await _ask(host, port)
    return False


async def why_unreachable(endpoint: str, within_s: float) -> str:
    """Return why an address accepts no connection; empty if it does. Nothing is sent."""
    parts = urlsplit(endpoint)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    try:
        async with asyncio.timeout(within_s):
            _, writer = await _connect(parts.hostname or "", port)
    except TimeoutError:
        return f"no response within {within_s:g} s"
    except socket.gaierror:
        return "its name could not be resolved"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else "no connection"
    writer.close()
    return ""


def is_free(port: int) -> bool:
    """Whether a browser could open that port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def _connect(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of a host that accepts it."""
    failed: OSError | None = None
    for *_, address in await _addresses(host, port):
        try:
            return await asyncio.open_connection(str(address[0]), port)
        except OSError as error:
            failed = error
    raise failed or OSError


async def _addresses(host: str, port: int) -> list[Any]:
    """Resolve a name in a thread of its own.

    The threads of the event loop are few, and the program would wait at its end for those that still ask a name server.
    """
    found = Future[list[Any]]()
    found.set_running_or_notify_cancel()  # not to be cancelled: the thread sets its result in any case

    def resolve() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.set_exception(error)

    Thread(target=resolve, name=f"resolve {host}", daemon=True).start()
    return await asyncio.wrap_future(found)


async def _ask(host: str, port: int) -> bool:
    reader, writer = await _connect(host, port)
    try:
        writer.write(f"GET {_PATH} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while _SIGN not in answer and len(answer) < _MAX_ANSWER:
            if not (piece := await reader.read(_MAX_ANSWER)):
                return False
            answer += piece
        return _SIGN in answer
    finally:
        writer.close()
