"""The rule for redirects, for all clients that follow them: no secret and no body reaches another origin."""

import re
from collections.abc import Mapping
from string import punctuation
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from tocsin.core.errors import TocsinError
from tocsin.core.http.transport import displayed_host

MAX_REDIRECTS = 5
_STATUSES = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
# Headers that may carry credentials, and Host, which names the first server.
_CREDENTIAL = re.compile(r"auth|cookie|credential|key|passw|secret|session|signature|token|^host$", re.IGNORECASE)


class RedirectError(TocsinError):
    """A redirect that is not followed."""

    code = "http-refused"


class HttpRequest(NamedTuple):
    """A request that may be redirected; only the first origin gets the headers in `private` (lower case)."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    private: frozenset[str] = frozenset()


def redirected(request: HttpRequest, status: int, location: str) -> HttpRequest | None:
    """Return the request after a redirect, or `None` if the response is not a redirect.

    At another origin (scheme, host or port), the body and the headers that are private or carry credentials are
    omitted, for the rest of the chain. Raises RedirectError if the address is not http or https, leads from https to
    http, or is at another origin to which the method would have to repeat a body. Methods: RFC 9110, section 15.4.
    """
    if status not in _STATUSES or not location:
        return None
    before, url, after = _origin(request.url), *_target(request.url, location)
    if before.scheme == "https" and after.scheme == "http":
        raise _refused(request, url, "without encryption")
    method, body, headers = request.method, request.body, dict(request.headers)
    if status == 303 or (status in {301, 302} and method == "POST"):
        method, body = "HEAD" if method == "HEAD" else "GET", b""
    if before != after:
        if body:
            raise _refused(request, url, "which would receive the request body")
        headers = {
            name: value
            for name, value in headers.items()
            if name.lower() not in request.private and not _CREDENTIAL.search(name)
        }
    if not body:
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
    return HttpRequest(method, url, headers, body, request.private)


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int


def _origin(url: str) -> _Origin:
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("not an http or https URL")
    return _Origin(parts.scheme, parts.hostname.removesuffix("."), parts.port or _PORTS[parts.scheme])


def _target(base: str, location: str) -> tuple[str, _Origin]:
    """Return the address of a redirect, without user and fragment, and its origin."""
    try:
        # Servers send unquoted UTF-8; headers are decoded as Latin-1, which keeps the bytes.
        parts = urlsplit(urljoin(base, quote(location.encode("latin-1", "replace"), safe=punctuation)))
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
        return url, _origin(url)
    except ValueError:
        raise RedirectError(f"{displayed_host(base)} redirects to an invalid address") from None


def _refused(request: HttpRequest, url: str, reason: str) -> RedirectError:
    return RedirectError(
        f"{displayed_host(request.url)} redirects the {request.method} to {displayed_host(url)}, {reason}",
        hint="if you trust that address, call it directly",
    )
