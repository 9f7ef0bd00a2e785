"""The front door as an ASGI application: the routes of features behind the layers that every request passes."""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin import __version__
from tocsin.core.config.core_variables import ALLOWED_HOSTS, FRONT_DOOR_HOST, RATE_LIMIT_PER_IP, TRUSTED_PROXIES
from tocsin.core.config.security import is_loopback
from tocsin.core.config.settings import Settings
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.ratelimit import Limiter, MakeLimiter, RateLimiter
from tocsin.features.front_door import (
    RESERVED,
    FrontRequest,
    FrontResponse,
    FrontRoute,
    RequestCutOffError,
)
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.asgi import EXEMPT_PATHS, HttpsOnly, LocalHosts, RequestScope
from tocsin.web.http.clients import bucket_key
from tocsin.web.http.methods import not_allowed
from tocsin.web.http.metrics import Metrics
from tocsin.web.http.responses import JsonResponse

log = logging.getLogger(__name__)

_REFUSALS = frozenset({400, 401, 403, 404})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontDependencies:
    """The dependencies of the front door."""

    settings: Settings
    limiter: MakeLimiter
    routes: Sequence[FrontRoute]
    metrics: Metrics
    draining: Callable[[], bool] = lambda: False  # True while the process is stopping


def build_front_door(parts: FrontDependencies) -> ASGIApp:
    """Return the front door as an ASGI application; raise ValueError for a path that it cannot have."""
    settings = parts.settings
    refusals = parts.limiter("front-door-refused", settings[RATE_LIMIT_PER_IP])
    served: list[Route] = [Route(path, _Health(parts.draining), methods=["GET"]) for path in EXEMPT_PATHS]
    served += [_route(route, refusals) for route in _ordered(parts.routes)]
    guarded: ASGIApp = _Dispatcher(served)
    if settings.https_enforced:
        guarded = HttpsOnly(guarded)
    if is_loopback(settings[FRONT_DOOR_HOST]):
        guarded = LocalHosts(guarded, settings[ALLOWED_HOSTS])

    def count(scope: Scope, status: int) -> None:
        parts.metrics.count_request(scope.get("tocsin.route", "other"), status)

    return RequestScope(guarded, settings[TRUSTED_PROXIES], count)


def _ordered(routes: Sequence[FrontRoute]) -> list[FrontRoute]:
    """Return the root and routes below reserved segments first, then those whose first segment is a parameter."""
    first = {route.path: route.path.split("/")[1] for route in routes}
    if unknown := sorted({word for word in first.values() if word not in {"", *RESERVED} and word[0] != "{"}):
        raise ValueError(f"not reserved on the front door (features/front_door.py): {', '.join(unknown)}")
    return sorted(routes, key=lambda route: first[route.path].startswith("{"))


def _route(route: FrontRoute, refusals: Limiter) -> Route:
    return Route(route.path, _Endpoint(route, refusals), methods=list(route.methods))


class _Dispatcher:
    """Passes a request to the first route that matches."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        other_methods: set[str] = set()
        for route in self._routes:
            if first in RESERVED and route.path.startswith("/{"):
                continue
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                await route.handle(scope, receive, send)
                return
            if match is Match.PARTIAL:
                other_methods |= route.methods or set()
        if other_methods:
            raise not_allowed(other_methods, options=False)
        raise HttpProblemError("not-found", "The front door has no such path.")


class _Endpoint:
    """One route: builds the request of its handler, and sends the response."""

    def __init__(self, route: FrontRoute, refusals: Limiter) -> None:
        self._route = route
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["tocsin.route"] = path = self._route.path
        try:
            found = await self._route.handler(_request(scope, receive))
        except StoreUnavailableError as error:
            log.warning("a request to the front door was refused", extra={"route": path, "reason": str(error)})
            found = self._route.unavailable
        except RequestCutOffError:  # the client reads no response
            found = FrontResponse(408)
        if found.status in _REFUSALS and not await _take(self._refusals, bucket_key(scope["tocsin.client"])):
            found = self._route.limited
        headers = {"Cache-Control": "no-store", **found.headers}
        response = Response(found.body, found.status, headers, found.media_type)
        await response(scope, receive, send)


class _Health:
    """GET /health: whether the listener answers."""

    def __init__(self, draining: Callable[[], bool]) -> None:
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["tocsin.route"] = scope["path"]
        stops = self._draining()
        document = {"status": "draining" if stops else "ok", "version": __version__}
        document |= {"health": "orange" if stops else "green", "database": "green"}  # clients of Gotify read these
        await JsonResponse(document, 503 if stops else 200)(scope, receive, send)


def _request(scope: Scope, receive: Receive) -> FrontRequest:
    return FrontRequest(
        method=scope["method"],
        path=scope["path_params"],
        query=_query(scope),
        headers={name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
        client=scope["tocsin.client"],
        request_id=scope["tocsin.request_id"],
        chunks=lambda: _chunks(scope, receive),
    )


def _query(scope: Scope) -> Mapping[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


async def _chunks(scope: Scope, receive: Receive) -> AsyncGenerator[bytes]:
    """Yield the body; one of many pieces waits for a slot. Raises RequestCutOffError where the connection ends."""
    message = await receive()
    yield _piece(message)
    if not message.get("more_body", False):
        return
    async with scope["tocsin.large_bodies"].slot(bucket_key(scope["tocsin.client"])):
        while message.get("more_body", False):
            message = await receive()
            yield _piece(message)


def _piece(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise RequestCutOffError("the connection ended within the body")
    found: bytes = message.get("body", b"")
    return found


async def _take(limiter: Limiter, key: str) -> bool:
    if isinstance(limiter, RateLimiter):
        return limiter.take(key)
    return await limiter.take(key) is not None
