"""The message gateway: sending and receiving over HTTP, in plain Starlette (docs/decisions/0004-plain-asgi.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin import __version__
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.core_variables import (
    ALLOWED_HOSTS,
    GATEWAY_HOST,
    GATEWAY_TOKEN,
    RATE_LIMIT_PER_IP,
    RATE_LIMIT_PER_USER,
    STORE,
    TRUSTED_PROXIES,
    WEBHOOK_RATE_LIMIT,
    WEBHOOK_REQUIRE_SIGNATURE,
)
from tocsin.core.config.data_dir import directory_id
from tocsin.core.config.security import is_loopback
from tocsin.core.config.settings import Settings
from tocsin.core.errors import TocsinError
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import MakeLimiter
from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.files.intake import FileIntake
from tocsin.features.context import GatewayRoute
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.model import Backlog
from tocsin.messaging.inbound.presses.buttons import PressedButtons
from tocsin.messaging.outbound.channel_watch import ChannelTroubles
from tocsin.messaging.outbound.idempotency import IdempotencyKeys
from tocsin.messaging.outbound.messenger import Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.rest.headers import header_values
from tocsin.web.access.bearer import BearerTokens, require_token
from tocsin.web.access.tokens import ApiTokens
from tocsin.web.gateway.api_page import api_page
from tocsin.web.gateway.deliveries import DeliveryRoutes
from tocsin.web.gateway.openapi import describe_gateway
from tocsin.web.gateway.press_page import PressPages
from tocsin.web.gateway.sending import SendHandler
from tocsin.web.gateway.webhooks import Webhooks
from tocsin.web.http.asgi import EXEMPT_PATHS, SAFE_METHODS, HttpsOnly, LocalHosts, OwnPages, RateLimits, RequestScope
from tocsin.web.http.methods import find_methods, not_allowed, send_methods
from tocsin.web.http.metrics import Metrics, MetricsReport
from tocsin.web.http.responses import JsonResponse
from tocsin.web.http.stored_metrics import StoredMetrics
from tocsin.web.http.tracing import with_traces

Handler = Callable[[Scope, Receive], Awaitable[ASGIApp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReports:
    """The state of the other parts of the process, as reported by the gateway."""

    bus: Callable[[], str] = lambda: "off"  # its state: off, ok or failing
    draining: Callable[[], bool] = lambda: False  # True while the process is stopping
    troubles: Callable[[], ChannelTroubles] = ChannelTroubles  # of providers, as this process sees them
    bot: Callable[[], Mapping[str, object] | None] = lambda: None  # its receiving state; None if it does not receive


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayDependencies:
    """The dependencies of the gateway."""

    settings: Settings
    clock: Clock
    audit: AuditTrail
    registry: Registry
    messenger: Messenger
    outbox: Outbox
    keys: IdempotencyKeys
    files: Callable[[], FileIntake]
    limiter: MakeLimiter
    inbox: Inbox
    buttons: PressedButtons
    tokens: ApiTokens
    metrics: Metrics = field(default_factory=Metrics)
    stored_metrics: StoredMetrics = field(default_factory=StoredMetrics)
    reports: StateReports = StateReports()  # it is frozen
    features: Sequence[GatewayRoute] = ()  # the routes of features


def build_gateway(parts: GatewayDependencies) -> ASGIApp:
    return _guarded(_routed(routes(parts, Gateway(parts))), parts)


def routes(parts: GatewayDependencies, gateway: "Gateway") -> list[Route]:
    """Return all routes; one with a `scope` requires a token if GATEWAY_TOKEN is set, and validates any token sent."""

    sending = SendHandler(parts.messenger, parts.outbox, parts.keys, parts.files)
    deliveries = DeliveryRoutes(parts.outbox, parts.registry)
    webhooks = gateway.webhooks()
    presses = PressPages(parts.registry, parts.buttons, parts.inbox, parts.clock)
    has_token = bool(parts.settings[GATEWAY_TOKEN])

    def route(method: str, path: str, handler: Handler, scope: str = "") -> Route:
        return Route(path, Endpoint(path, handler, scope, needs_token=has_token), methods=[method])

    return [
        route("POST", "/send", sending.send, "send"),
        route("POST", "/webhook/{channel}", webhooks.receive),
        route("GET", "/a/{token}", presses.show),
        route("POST", "/a/{token}", presses.press),
        route("DELETE", "/messages/{channel}/{key}", sending.withdraw, "send"),
        route("GET", "/deliveries", deliveries.list, "read"),
        route("GET", "/deliveries/{id}", deliveries.show, "read"),
        route("POST", "/deliveries/{id}/replay", deliveries.replay, "send"),
        route("POST", "/deliveries/{id}/dismiss", deliveries.dismiss, "send"),
        route("POST", "/deliveries/{id}/retry", deliveries.retry, "send"),
        route("POST", "/deliveries/{id}/cancel", deliveries.cancel, "send"),
        *(route("GET", path, gateway.health) for path in EXEMPT_PATHS),
        route("GET", "/channels", gateway.channels),
        route("GET", "/metrics", gateway.metrics, "read"),
        route("GET", "/openapi.json", gateway.openapi),
        route("GET", "/docs/{name}", api_page),
        *(route(of.method, of.path, of.handler, _required_scope(of)) for of in parts.features),
    ]


def _required_scope(route: GatewayRoute) -> str:
    """Return the scope that a token needs for the route of a feature."""
    if not route.protected:
        return ""
    return "read" if route.method in SAFE_METHODS else "run"


def _routed(served: Sequence[Route]) -> ASGIApp:
    """Return the application that dispatches requests to routes."""
    router = Router(served, redirect_slashes=False)
    # A dictionary finds paths without parameters; the router would try one route after another.
    exact = {
        (method, route.path): route.app for route in served if "{" not in route.path for method in route.methods or ()
    }

    def routed(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        app = exact.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if app is not None:
            return app(scope, receive, send)
        if scope.get("method") == "OPTIONS" and (methods := find_methods(served, scope["path"])):
            return send_methods(methods, send)
        return searched(scope, receive, send)

    async def searched(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # makes the router raise its 404 and 405 instead of answering in plain text
        try:
            await router(scope, receive, send)
        except HTTPException as refusal:
            raise (
                not_allowed(find_methods(served, scope["path"])) if refusal.status_code == 405 else refusal
            ) from None

    return routed


def _guarded(routed: ASGIApp, parts: GatewayDependencies) -> ASGIApp:
    """Wrap `routed` in the layers that every request passes, innermost first."""
    settings = parts.settings
    guarded = routed
    if settings.https_enforced:
        guarded = HttpsOnly(guarded)
    if is_loopback(settings[GATEWAY_HOST]):
        guarded = guarded if settings[GATEWAY_TOKEN] else OwnPages(guarded)
        guarded = LocalHosts(guarded, settings[ALLOWED_HOSTS])
    guarded = RateLimits(
        guarded,
        parts.limiter("gateway-address", settings[RATE_LIMIT_PER_IP]),
        parts.limiter("gateway-user", settings[RATE_LIMIT_PER_USER]),
    )
    guarded = BearerTokens(guarded, settings[GATEWAY_TOKEN], parts.tokens)

    def count(scope: Scope, status: int) -> None:
        parts.metrics.count_request(scope.get("tocsin.route", "other"), status)

    return with_traces(RequestScope(guarded, settings[TRUSTED_PROXIES], count))


class Endpoint:
    """One route as an ASGI application: checks the token, then sends the response of the handler."""

    def __init__(self, path: str, handler: Handler, scope: str, *, needs_token: bool) -> None:
        """Public if `scope` is empty, or if no token is required and none is sent."""
        self._path = path
        self._handler = handler
        self._scope = scope
        self._needs_token = needs_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["tocsin.route"] = self._path
        if self._scope:
            require_token(scope, self._scope, optional=not self._needs_token)
        response = await self._handler(scope, receive)
        await response(scope, receive, send)


class Gateway:
    """The handlers of the gateway's routes."""

    def __init__(self, parts: GatewayDependencies) -> None:
        self._parts = parts
        self._metrics = parts.metrics
        self._report = MetricsReport(
            metrics=parts.metrics,
            registry=parts.registry,
            queue=parts.outbox.store,
            backlog=self._backlog,
            troubles=parts.reports.troubles,
            clock=parts.clock,
            stored=parts.stored_metrics,
        )

    def webhooks(self) -> Webhooks:
        """Return the receiver of webhook calls."""
        parts, settings = self._parts, self._parts.settings
        return Webhooks(
            parts.registry,
            parts.inbox,
            parts.audit,
            parts.clock,
            self._metrics,
            several_hosts=settings[STORE] == "redis",
            limit=parts.limiter("webhook", settings[WEBHOOK_RATE_LIMIT]),
            verifies=settings[WEBHOOK_REQUIRE_SIGNATURE],
        )

    async def health(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /health and /api/health: whether the service can work, and which channels are configured."""
        # The reason contains a path of this machine: it is for the log, not for a public response.
        problems = ["the audit log cannot be written; see the log"] if await self._parts.audit.check() else []
        # Concurrently: a slow or unavailable store must not make callers time out.
        queue, backlog, troubles = await asyncio.gather(
            self._parts.outbox.store.health(), self._backlog(), self._report.shared_troubles()
        )
        if not queue.ok:
            problems.append(f"the queue ({queue.backend}) is unreliable; see the log and `tocsin doctor`")
        if backlog is None or self._parts.inbox.problem:
            problems.append("received messages cannot be processed; see the log")
        draining = self._parts.reports.draining()
        status = "draining" if draining else "degraded" if problems else "ok"
        document: dict[str, object] = {
            "status": status,
            "version": __version__,
            "instance": directory_id(self._parts.settings.data_dir),
            "bus": {"status": self._parts.reports.bus()},
            "queue": {"backend": queue.backend, "status": "ok" if queue.ok else "failing"},
            "inbox": {
                "status": "failing" if backlog is None or self._parts.inbox.problem else "ok",
                "open": backlog.open if backlog else 0,
            },
            "channels": {
                state.spec.kind: "configured" if state.configured else "unconfigured"
                for state in self._parts.registry.states()
            },
        }
        for name, times in (("failing", troubles.failing), ("throttled", troubles.throttled)):
            if times:
                document[name] = {channel: timestamp(at) for channel, at in times.items()}
        if (bot := self._parts.reports.bot()) is not None:
            document["bot"] = bot
        if problems:
            document["problems"] = problems
        return JsonResponse(document, 200 if status == "ok" else 503)

    async def channels(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /channels: the kinds of the configured channels."""
        return JsonResponse(self._parts.registry.configured())

    async def metrics(self, scope: Scope, receive: Receive) -> Response:
        """GET /metrics: all metrics, for Prometheus."""
        return await self._report.answer(",".join(header_values(scope, b"accept")))

    async def _backlog(self) -> Backlog | None:
        """Return the backlog of the inbox; `None` if it cannot be read."""
        try:
            return await self._parts.inbox.backlog()
        except TocsinError:
            return None

    async def openapi(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /openapi.json: the description of this interface."""
        return JsonResponse(describe_gateway(self._parts.registry.kinds()))
