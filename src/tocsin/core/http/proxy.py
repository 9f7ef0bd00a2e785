"""Proxies from the environment: their selection, and the tunnel through one."""

import asyncio
from base64 import b64encode
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from tocsin.core.config.settings import may_need_proxy
from tocsin.core.http.transport import connect_failed

HINT = "check HTTPS_PROXY and NO_PROXY"
# Some proxies explain a rejection at length; only the status is read.
MAX_ANSWER_BYTES = 64 * 1024
_END = b"\r\n\r\n"


@lru_cache(maxsize=64)
def proxy_for(origin: str) -> str | None:
    """Return the proxy that the environment selects; `origin` is scheme and authority of a URL."""
    if not may_need_proxy():  # urllib.request costs 10 ms to import, which most commands avoid
        return None
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(origin)
    proxy = getproxies().get(parts.scheme)
    if not proxy or proxy_bypass(parts.netloc):
        return None
    scheme, separator, _ = proxy.partition("://")
    if not separator:
        return f"http://{proxy}"  # like curl
    if scheme.lower() not in {"http", "https"}:
        raise connect_failed(origin, f"a {scheme} proxy is not supported", "use an http proxy, or set NO_PROXY")
    return proxy


def authorization_header(proxy: str) -> dict[str, str]:
    """Return the header with the user and password of a proxy's URL, if it has any."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


class Tunnel(asyncio.Protocol):
    """The connection to a proxy until the tunnel is open: RFC 9110, section 9.3.6."""

    def __init__(self, url: str) -> None:
        """Store the requested URL for errors."""
        self._url = url
        self._received = bytearray()
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def open(self, transport: asyncio.Transport, authority: str, proxy: str) -> None:
        """Make the proxy connect to `authority`, a host and port; raise RemoteError if it does not."""
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        lines += [f"{name}: {value}" for name, value in authorization_header(proxy).items()]
        transport.write("\r\n".join(lines).encode() + _END)
        status = await self._status
        if not 200 <= status < 300:
            raise connect_failed(self._url, f"the proxy responded with status {status}", HINT)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._status.done() or (_END not in self._received and len(self._received) <= MAX_ANSWER_BYTES):
            return
        version, _, rest = bytes(self._received[:128]).partition(b" ")
        # The server behind a tunnel waits for our greeting: bytes after the proxy's answer are not from it.
        if version.startswith(b"HTTP/1.") and rest[:3].isdigit() and not (rest[:1] == b"2" and self._is_followed()):
            self._status.set_result(int(rest[:3]))
        else:
            self._fail("the proxy sent an invalid HTTP response")

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("the proxy closed the connection")

    def _is_followed(self) -> bool:
        return not self._received.endswith(_END) or self._received.count(_END) > 1

    def _fail(self, reason: str) -> None:
        if not self._status.done():
            self._status.set_exception(connect_failed(self._url, reason, HINT))
