"""HTTP for services: one aiohttp session whose connections are kept."""

import ssl
from collections.abc import Mapping

import aiohttp
from yarl import URL

from tocsin.core.http.transport import (
    CALL_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    MAX_BODY_BYTES,
    READ_TIMEOUT_S,
    HttpResponse,
    certificate_refused,
    connect_failed,
    origin_of,
    outcome_unknown,
    proxy_for,
    reason_of,
)

# Below what providers keep idle connections for, so that a reused one is rarely just being closed.
KEEPALIVE_S = 10.0
MAX_CONNECTIONS = 256


class PooledTransport:
    """Carries out calls over kept connections; made inside a running event loop."""

    def __init__(self, *, connect_timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Answers are small: compressing them gains nothing, and a bomb would fill the memory.
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding", "Content-Type"),
        )
        self._timeouts: dict[tuple[float, float], aiohttp.ClientTimeout] = {}

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        """See `Transport.request`."""
        try:
            async with self._session.request(
                method,
                # A token in the path may hold `:`; it must arrive as it is.
                URL(url, encoded=True),
                headers=headers,
                data=body or None,
                allow_redirects=False,
                proxy=proxy_for(origin_of(url)),
                timeout=self._timeout(timeout_s, read_timeout_s),
            ) as response:
                content, complete = await _read(response, max_body_bytes)
                return HttpResponse(response.status, response.headers, content, complete)
        except aiohttp.ClientConnectorCertificateError as error:
            raise certificate_refused(url, getattr(error.certificate_error, "verify_message", "")) from None
        except (aiohttp.ClientConnectorError, aiohttp.ClientProxyConnectionError) as error:
            raise connect_failed(url, _reason(error.os_error)) from None
        except aiohttp.ClientHttpProxyError as error:
            raise connect_failed(url, f"the proxy answered {error.status}", "check HTTPS_PROXY and NO_PROXY") from None
        except aiohttp.ConnectionTimeoutError:
            raise connect_failed(url, f"no connection within {self._connect_timeout_s:g} s") from None
        except (aiohttp.InvalidURL, UnicodeError):  # the second: a name that DNS cannot hold
            raise connect_failed(url, "the address is not valid") from None
        except TimeoutError:
            raise outcome_unknown(url, "did not answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise outcome_unknown(url, _what_happened(error)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _timeout(self, timeout_s: float, read_timeout_s: float) -> aiohttp.ClientTimeout:
        key = (timeout_s, read_timeout_s)
        if key not in self._timeouts:
            self._timeouts[key] = aiohttp.ClientTimeout(
                # `connect` also bounds looking up the name and waiting for a free connection:
                # when they take too long, nothing has been sent.
                total=timeout_s,
                connect=self._connect_timeout_s,
                sock_read=read_timeout_s,
            )
        return self._timeouts[key]


async def _read(response: aiohttp.ClientResponse, max_body_bytes: int) -> tuple[bytes, bool]:
    """Return the body as far as it came: the status already says most of what matters."""
    received = bytearray()
    try:
        if (response.content_length or max_body_bytes + 1) <= max_body_bytes:
            return await response.read(), True
        async for chunk in response.content.iter_any():
            received += chunk
            if len(received) > max_body_bytes:
                response.close()
                return bytes(received[:max_body_bytes]), False
    except (aiohttp.ClientError, TimeoutError, OSError):
        return bytes(received), False
    return bytes(received), True


def _what_happened(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.ClientPayloadError):
        return "sent something that is not HTTP"
    return "closed the connection"


def _reason(error: OSError) -> str:
    return "TLS failed" if isinstance(error, ssl.SSLError) else reason_of(error)
