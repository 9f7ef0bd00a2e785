"""ASGI layers that every request passes before its route.

Starlette's BaseHTTPMiddleware would double the processor time of a request (docs/decisions/0004). Layers that do
nothing after the application are plain functions, which return the application's awaitable.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.core.config.addresses import Network
from tocsin.core.config.core_variables import RATE_LIMIT_PER_IP, RATE_LIMIT_PER_USER
from tocsin.core.config.security import is_loopback
from tocsin.core.ids import new_id
from tocsin.core.time.ratelimit import Limiter, RateLimiter
from tocsin.rest.headers import header_values
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.clients import bucket_key, is_in, is_local_host, parse_address

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
# A body up to this size needs no slot of the large ones.
SMALL_BODY_BYTES = 16 * 1024
# Read and discarded before a 413: closing with unread data resets the connection, and the response is lost.
MAX_DISCARDED_BYTES = 8 * MAX_BODY_BYTES
EXEMPT_PATHS = ("/health", "/api/health")
# Products call these from few addresses: a signature authenticates them, and calls that fail verification are
# counted.
WEBHOOK_PATHS = "/webhook/"
# Pages of signed links, whose POST needs no credential but the link: a page of another site cannot know it.
LINK_PATHS = "/a/"
# Problems that are not the caller's fault.
_OWN_TROUBLE = frozenset({"rate-limited", "not-ready"})
_REQUEST_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestScope:
    """The outermost layer: gives each request an ID and a client address, and each error a problem document."""

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[Network], count: Callable[[Scope, int], None]) -> None:
        self._app = app
        self._trusted = tuple(trusted_proxies)
        self._count = count
        self._large_bodies = LargeBodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope["tocsin.request_id"] = request_id
        scope["tocsin.client"] = self._client(scope)
        scope["tocsin.large_bodies"] = self._large_bodies
        # The server's own `send`, for streams: the layers between do nothing with the pieces of a body.
        scope["tocsin.send_body"] = send
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
        except Exception as error:  # the outermost handler: every request must be answered
            if scope.get("tocsin.answered") is error:
                return
            if started:
                raise
            await problem_for(error, request_id).response(request_id)(scope, receive, reply)
        finally:
            # It refers back to the scope: each request would wait for the garbage collector, a twentieth of its time.
            del scope["tocsin.send_body"]

    def _client(self, scope: Scope) -> str:
        """Return the client's address: the peer's, or the one that a trusted proxy reports."""
        peer = str((scope.get("client") or ("unknown",))[0])
        scope["tocsin.proxied"] = proxied = bool(self._trusted) and is_in(parse_address(peer), self._trusted)
        if not proxied:
            return peer
        hops = [hop for value in header_values(scope, b"x-forwarded-for") for hop in value.split(",")]
        for hop in reversed(hops):
            address = parse_address(hop)
            if address is None:  # no proxy sends that: it must not become a bucket or an audit line
                return peer
            if not is_in(address, self._trusted):
                return str(address)
        return peer


class HttpsOnly:
    """Rejects plain HTTP; a trusted proxy reports TLS with `X-Forwarded-Proto`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"] not in EXEMPT_PATHS and not is_encrypted(scope):
            raise HttpProblemError("forbidden", _https_hint(scope))
        return self._app(scope, receive, send)


class LocalHosts:
    """Rejects requests with foreign host names, for services on loopback.

    A page can point its own name at 127.0.0.1 and then call the local services and read their responses (DNS
    rebinding). Webhooks use a public name and are signed.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        """Accept `names` in addition to those of this machine."""
        self._app = app
        self._names = names

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_open = scope["type"] != "http" or scope["path"].startswith((WEBHOOK_PATHS, LINK_PATHS))
        exempt = is_open or scope["path"] in EXEMPT_PATHS
        if not exempt and not all(is_local_host(host, self._names) for host in header_values(scope, b"host")):
            raise HttpProblemError(
                "forbidden",
                "On loopback, the Host header must be localhost, a loopback address or a name in ALLOWED_HOSTS. "
                "To serve another name, also through a proxy, add it to ALLOWED_HOSTS.",
            )
        return self._app(scope, receive, send)


class OwnPages:
    """Rejects changes that pages of other sites make a browser send, on routes that need no credential.

    A page can send a form anywhere without reading the response; browsers report the site that it came from.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_open = scope["type"] != "http" or scope["path"].startswith((WEBHOOK_PATHS, LINK_PATHS))
        exempt = is_open or scope["path"] in EXEMPT_PATHS
        if not exempt and scope["method"] not in SAFE_METHODS:
            self._check_origin(scope)
        return self._app(scope, receive, send)

    def _check_origin(self, scope: Scope) -> None:
        sites, origins = header_values(scope, b"sec-fetch-site"), header_values(scope, b"origin")
        if not sites and not origins:
            return
        hosts = header_values(scope, b"host")
        origins = [origin.partition("://")[2] for origin in origins]
        if not set(sites) <= {"same-origin", "none"} or not set(origins) <= set(hosts):
            raise HttpProblemError(
                "forbidden", "Without GATEWAY_TOKEN, the gateway rejects requests from pages of other sites."
            )


def is_cross_site(scope: Scope) -> bool:
    """Return True if a browser reports that a page of another site made it send this request."""
    return not {"cross-site", "same-site"}.isdisjoint(header_values(scope, b"sec-fetch-site"))


class RateLimits:
    """Limit requests: one bucket per authenticated user, one per address for all others.

    A webhook call counts only if it was rejected: verified calls have a separate limit.
    """

    def __init__(
        self, app: ASGIApp, per_address: Limiter, per_user: Limiter, *, free_below: tuple[str, ...] = ()
    ) -> None:
        """Paths below `free_below`, such as files of the page, and `/` itself do not count."""
        self._app = app
        self._free_below = free_below
        self._per_address = per_address
        self._per_user = per_user

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"].startswith(WEBHOOK_PATHS):
            return self._only_refused(scope, receive, send)
        if scope["type"] != "http" or self._is_free(scope["path"]):
            return self._app(scope, receive, send)
        limiter, key = self._limiter_of(scope)
        if not isinstance(limiter, RateLimiter):
            return self._count_first(scope, receive, send)
        _count_here(scope, limiter, key)
        return self._app(scope, receive, send)

    async def _count_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._count(scope)
        await self._app(scope, receive, send)

    def _is_free(self, path: str) -> bool:
        return path in EXEMPT_PATHS or (bool(self._free_below) and (path == "/" or path.startswith(self._free_below)))

    async def _only_refused(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except (HttpProblemError, HTTPException) as refusal:
            if not (isinstance(refusal, HttpProblemError) and refusal.code in _OWN_TROUBLE):
                await self._count(scope)
            raise

    def _limiter_of(self, scope: Scope) -> tuple[Limiter, str]:
        user = scope.get("tocsin.user", "")
        if user:
            return self._per_user, user
        # A separate bucket: requests that a page makes a browser send must not use up the bucket for signing in.
        bucket = bucket_key(scope["tocsin.client"])
        return self._per_address, f"{bucket} by other sites" if is_cross_site(scope) else bucket

    async def _count(self, scope: Scope) -> None:
        limiter, key = self._limiter_of(scope)
        if isinstance(limiter, RateLimiter):
            _count_here(scope, limiter, key)
            return
        left = await limiter.take(key)
        scope["tocsin.limit"] = (limiter.per_minute, lambda: left or 0.0)
        if left is None:
            raise _rate_limited(scope, limiter.per_minute)


def _count_here(scope: Scope, limiter: RateLimiter, key: str) -> None:
    allowed = limiter.take(key)
    scope["tocsin.limit"] = (limiter.per_minute, partial(limiter.left, key))
    if not allowed:
        raise _rate_limited(scope, limiter.per_minute)


def _rate_limited(scope: Scope, per_minute: int) -> HttpProblemError:
    setting = RATE_LIMIT_PER_USER if scope.get("tocsin.user") else RATE_LIMIT_PER_IP
    return HttpProblemError(
        "rate-limited",
        f"More than {per_minute} requests per minute. Wait a minute, or raise {setting.name}.",
        headers={"Retry-After": "60"},  # docs/http.md, "Limits"
    )


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body; raise the 413 response if it is larger than 1 MiB."""
    declared = header_values(scope, b"content-length")
    if declared and declared[0].isdecimal() and len(declared[0]) < 20 and int(declared[0]) > MAX_BODY_BYTES:
        if not header_values(scope, b"expect"):  # a client that expects `100 Continue` has not sent the body yet
            await _discard(receive)
        raise _too_large()
    body = bytearray()
    if await _receive_into(body, receive, SMALL_BODY_BYTES):
        large_bodies: LargeBodies = scope["tocsin.large_bodies"]
        async with large_bodies.slot(bucket_key(scope["tocsin.client"])):
            await _receive_into(body, receive, MAX_BODY_BYTES + 1)
    return bytes(body)


async def _receive_into(body: bytearray, receive: Receive, enough: int) -> bool:
    """Append chunks until the end or until `enough` bytes; return True if more will follow."""
    while len(body) < enough:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpProblemError("invalid-request", "The connection was closed before the whole body was received.")
        more = message.get("more_body", False)
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            if more:
                await _discard(receive)
            raise _too_large()
        if not more:
            return False
    return True


class LargeBodies:
    """Slots for bodies that arrive in many pieces: they bound the memory of unauthenticated requests.

    Other requests wait unread. One address can have only some of the slots, so that it cannot block others.
    """

    def __init__(self, total: int = 16, per_address: int = 4) -> None:
        self._total = asyncio.Semaphore(total)
        self._per_address = per_address
        self._of_address: dict[str, asyncio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    @asynccontextmanager
    async def slot(self, address: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it during the block."""
        own = self._of_address.setdefault(address, asyncio.Semaphore(self._per_address))
        self._users[address] += 1
        try:
            async with own, self._total:
                yield
        finally:
            self._users[address] -= 1
            if not self._users[address]:
                del self._users[address], self._of_address[address]


async def _discard(receive: Receive) -> None:
    size = 0
    while size <= MAX_DISCARDED_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):  # the end, or `http.disconnect`
            return


def _too_large() -> HttpProblemError:
    # Closing the connection tells the client not to send the rest of the body.
    return HttpProblemError(
        "payload-too-large", "The body is larger than 1 MiB (1,048,576 bytes).", headers={"Connection": "close"}
    )


_STOPPED = HttpProblemError(
    "not-ready",
    "The service stopped while it processed this request, which may have taken effect. Check before you send it again.",
)


def _request_id(scope: Scope) -> str:
    for value in header_values(scope, b"x-request-id"):
        if _REQUEST_ID.fullmatch(value):
            return value
    return new_id()


def is_encrypted(scope: Scope) -> bool:
    """Return True if the request was encrypted, here or up to a trusted proxy."""
    if scope["scheme"] == "https":
        return True
    protos = header_values(scope, b"x-forwarded-proto") if scope["tocsin.proxied"] else []
    return bool(protos) and protos[-1].rpartition(",")[2].strip().lower() == "https"


def _https_hint(scope: Scope) -> str:
    """Return why plain HTTP is rejected, and how this caller can connect."""
    refused = "Plain HTTP is rejected because HTTPS is enforced (FORCE_HTTPS, ENVIRONMENT=production). "
    if scope["tocsin.proxied"]:
        return f"{refused}The proxy must send `X-Forwarded-Proto: https` for requests that it received over TLS."
    usual = "Call the https:// address of the proxy in TRUSTED_PROXIES. "
    if is_loopback(scope["tocsin.client"]):
        return (
            f"{refused}{usual}For requests from this machine, set TRUSTED_PROXIES={scope['tocsin.client']} and "
            "send the header `X-Forwarded-Proto: https`, or set FORCE_HTTPS=false."
        )
    return refused + usual.rstrip()


def problem_for(error: Exception, request_id: str) -> HttpProblemError:
    """Return the response to a failed request; a bug is logged without details for the caller."""
    if isinstance(error, HttpProblemError):
        return error
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        return HttpProblemError("not-found", "Unknown path. GET /openapi.json lists all paths.")
    log.error("request failed", exc_info=error, extra={"request_id": request_id})
    return HttpProblemError("internal-error", "The request failed because of a bug in Tocsin. See the log for details.")
