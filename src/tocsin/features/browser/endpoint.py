"""Whether something listens where a browser should, and whether that is a browser."""

import asyncio
import os
import socket
from contextlib import suppress
from urllib.parse import urlsplit

_WITHIN_S = 2.0
_MAX_ANSWER = 64 * 1024
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
# Every browser with a debugging port tells this of itself. Source: the Chrome DevTools Protocol, "HTTP Endpoints".
_PATH, _SIGN = "/json/version", b'"webSocketDebuggerUrl"'


async def is_browser(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a browser of this machine answers on its debugging port."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_WITHIN_S):
            return await _ask(host, port)
    return False


async def why_unreachable(endpoint: str) -> str:
    """Return why nothing accepts a connection at an address, empty where something does. Nothing is sent there."""
    parts = urlsplit(endpoint)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    try:
        async with asyncio.timeout(_WITHIN_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return f"no answer within {_WITHIN_S:g} s"
    except socket.gaierror:
        return "its name has no address"
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


async def _ask(host: str, port: int) -> bool:
    reader, writer = await asyncio.open_connection(host, port)
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
