"""What every request passes before a route, as plain ASGI.

Starlette's BaseHTTPMiddleware would double the processor time of a request (docs/decisions/0004).
"""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.core.ids import new_id
from tocsin.core.ratelimit import RateLimiter
from tocsin.core.security import is_loopback
from tocsin.core.variables import Network
from tocsin.web.problems import Problem

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
# Read and thrown away before a 413: closing with data unread resets the connection, and the answer with it.
MAX_DISCARDED_BYTES = 8 * MAX_BODY_BYTES
EXEMPT_PATHS = frozenset({"/health", "/api/health"})
# Products call these from few addresses: a signature lets them in, and what fails to prove itself is counted.
WEBHOOK_PATHS = "/webhook/"
# Answers that say nothing against the caller.
_OWN_TROUBLE = frozenset({"rate-limited", "not-ready"})
_REQUEST_ID = re.compile(rb"[\w-]{1,64}")
_HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}


class RequestScope:
    """Outermost: gives the request an id and a client address, and every error a problem document."""

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[Network], count: Callable[[Scope, int], None]) -> None:
        self._app = app
        self._trusted = tuple(trusted_proxies)
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope["tocsin.request_id"] = request_id
        scope["tocsin.client"] = self._client(scope)
        header = (b"x-request-id", request_id.encode())
        started = False

        async def reply(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"].append(header)
                self._count(scope, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, reply)
        except asyncio.CancelledError:
            # Only the end of the service's grace period cancels a request, and then the task ends here.
            if not started:
                await _STOPPED.response(request_id)(scope, receive, reply)
        except Exception as error:  # the edge of the service: a request must be answered, whatever broke
            if started:
                raise
            await _problem_of(error, request_id).response(request_id)(scope, receive, reply)

    def _client(self, scope: Scope) -> str:
        """Return the client's address: the peer's, or the one that a trusted proxy vouches for."""
        peer = str((scope.get("client") or ("unknown",))[0])
        scope["tocsin.proxied"] = proxied = bool(self._trusted) and self._is_trusted(_address(peer))
        if not proxied:
            return peer
        hops = [hop for value in header_values(scope, b"x-forwarded-for") for hop in value.split(",")]
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:  # no proxy writes that: it must not become a bucket or an audit line
                return peer
            if not self._is_trusted(address):
                return str(address)
        return peer

    def _is_trusted(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(
            address in network for network in self._trusted if network.version == address.version
        )


class HttpsOnly:
    """Refuses plain HTTP; a trusted proxy says with `X-Forwarded-Proto` that it spoke TLS."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in EXEMPT_PATHS and not _came_by_tls(scope):
            raise Problem("forbidden", _how_to_use_https(scope))
        await self._app(scope, receive, send)


class LocalNames:
    """Refuses host names of the Internet where being on loopback is all the protection there is.

    A web page can point a name of its own at 127.0.0.1 and is then free to call what listens there
    (DNS rebinding); an address or a name like `localhost` cannot be pointed anywhere. Webhooks come by
    a public name, and have a signature to protect them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exempt = scope["type"] != "http" or scope["path"] in EXEMPT_PATHS or scope["path"].startswith(WEBHOOK_PATHS)
        if not exempt and not scope["tocsin.proxied"]:
            for host in header_values(scope, b"host"):
                if not is_local_name(host):
                    raise Problem(
                        "forbidden",
                        "Without GATEWAY_TOKEN this gateway answers to localhost and addresses only. "
                        "Set GATEWAY_TOKEN, or name the proxy in TRUSTED_PROXIES.",
                    )
        await self._app(scope, receive, send)


class BearerToken:
    """Notes who holds the token, or why nobody does; the routes that need it refuse everybody else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._digest = sha256(token.encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            problem = scope["tocsin.token_problem"] = self._problem_of(scope)
            scope["tocsin.user"] = "" if problem else "token"
        await self._app(scope, receive, send)

    def _problem_of(self, scope: Scope) -> str:
        values = header_values(scope, b"authorization")
        if not values:
            return f"There is no token: {_NEEDED}."
        scheme, _, token = values[0].partition(" ")
        if len(values) > 1 or scheme.lower() != "bearer" or not token.strip():
            return f"The header Authorization holds no bearer token, or stands there more than once: {_NEEDED}."
        given = sha256(token.strip().encode("latin-1")).digest()
        return "" if compare_digest(given, self._digest) else f"The token is wrong: {_NEEDED}."


def require_token(scope: Scope) -> None:
    """Raise the 401 answer, which says what is wrong, unless the request holds the token."""
    if scope.get("tocsin.user"):
        return
    problem = scope["tocsin.token_problem"]
    # RFC 6750, section 3.1: only who sent a token is told of an error.
    error = ', error="invalid_token"' if header_values(scope, b"authorization") else ""
    raise Problem("unauthenticated", problem, headers={"WWW-Authenticate": f'Bearer realm="gateway"{error}'})


class RateLimits:
    """One bucket an authenticated user, one an address for everybody else (decision 18).

    A webhook call takes from it only when it was refused: whoever is verified has a limit of another kind.
    """

    def __init__(self, app: ASGIApp, per_address: RateLimiter, per_user: RateLimiter) -> None:
        self._app = app
        self._per_address = per_address
        self._per_user = per_user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(WEBHOOK_PATHS):
            await self._only_refused(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"] not in EXEMPT_PATHS:
            self._take(scope)
        await self._app(scope, receive, send)

    async def _only_refused(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except (Problem, HTTPException) as refusal:
            if not (isinstance(refusal, Problem) and refusal.code in _OWN_TROUBLE):
                self._take(scope)
            raise

    def _take(self, scope: Scope) -> None:
        user = scope.get("tocsin.user", "")
        limiter, key = (self._per_user, user) if user else (self._per_address, bucket_of(scope["tocsin.client"]))
        if not limiter.take(key):
            raise Problem(
                "rate-limited",
                f"More than {limiter.per_minute} requests a minute. Wait a minute, or raise the limit.",
                headers={"Retry-After": "60"},  # fixed by spec 7
            )


def bucket_of(address: str) -> str:
    """Return the key that an address counts under: itself, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = _address(address)
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else str(parsed or address)


@lru_cache(maxsize=32)
def is_local_name(host: str) -> bool:
    """Whether a `Host` header holds an address, `localhost`, or a name that no public DNS knows."""
    name = host.partition(":")[0].rstrip(".").lower()
    return host.startswith("[") or "." not in name or name.endswith(".localhost") or _address(name) is not None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address as proxies write it, also with a port; a mapped IPv4 address is that address."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (isinstance(parsed, IPv6Address) and parsed.ipv4_mapped) or parsed


def header_values(scope: Scope, name: bytes) -> list[str]:
    """Return every value of a header, in order; header names are lower case in ASGI."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body; raise the 413 answer when it is over 1 MiB."""
    declared = header_values(scope, b"content-length")
    if declared and declared[0].isdecimal() and len(declared[0]) < 20 and int(declared[0]) > MAX_BODY_BYTES:
        if not header_values(scope, b"expect"):  # who expects a go-ahead has not sent anything yet
            await _discard(receive)
        raise _too_large()
    chunks = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("invalid-request", "The connection was closed before the whole body had arrived.")
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY_BYTES:
            if message.get("more_body", False):
                await _discard(receive)
            raise _too_large()
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _discard(receive: Receive) -> None:
    size = 0
    while size <= MAX_DISCARDED_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):  # the end, or `http.disconnect`
            return


def _too_large() -> Problem:
    # Closing says that the rest of the body is not wanted.
    return Problem("payload-too-large", "The body is over 1 MiB (1,048,576 bytes).", headers={"Connection": "close"})


_NEEDED = "this needs the header `Authorization: Bearer <token>` with the value of GATEWAY_TOKEN"

_STOPPED = Problem(
    "not-ready",
    "The service was stopped while it worked on this request, which may have taken effect: check before sending again.",
)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return new_id()


def _came_by_tls(scope: Scope) -> bool:
    if scope["scheme"] == "https":
        return True
    protos = header_values(scope, b"x-forwarded-proto") if scope["tocsin.proxied"] else []
    return bool(protos) and protos[-1].rpartition(",")[2].strip().lower() == "https"


def _how_to_use_https(scope: Scope) -> str:
    """Return why plain HTTP is refused, and how this caller gets in."""
    refused = "Plain HTTP is refused because HTTPS is enforced (FORCE_HTTPS, ENVIRONMENT=production). "
    if scope["tocsin.proxied"]:
        return f"{refused}The proxy must send `X-Forwarded-Proto: https` for what reached it by TLS."
    usual = "Call the https:// address of the TLS-terminating proxy that TRUSTED_PROXIES names. "
    if is_loopback(scope["tocsin.client"]):
        return (
            f"{refused}{usual}For calls on this machine set TRUSTED_PROXIES={scope['tocsin.client']} "
            "and send the header `X-Forwarded-Proto: https`, or set FORCE_HTTPS=false."
        )
    return refused + usual.rstrip()


def _problem_of(error: Exception, request_id: str) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException) and error.status_code in _HTTP_CODES:
        detail = {404: "No such path. GET /openapi.json lists them all.", 405: "This path has other methods."}
        return Problem(_HTTP_CODES[error.status_code], detail[error.status_code], headers=error.headers or {})
    log.error("request failed", exc_info=error, extra={"request_id": request_id})
    return Problem("internal-error", "The request failed because of a bug; the log has the details.")
