"""A span for each request that changes something, as part of the caller's trace."""

from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.core.tracing.spans import (
    TRACEPARENT,
    SpanKind,
    Tracer,
    current_tracer,
    span,
    start_tracing,
    valid_traceparent,
)
from tocsin.rest.headers import header_values
from tocsin.web.http.asgi import SAFE_METHODS


def with_traces(app: ASGIApp) -> ASGIApp:
    """Return the application with spans for requests, or `app` itself while tracing is off."""
    tracer = current_tracer()
    return TracedRequests(app, tracer) if tracer else app


class TracedRequests:
    """The layer around all others: the status of the response is known, whatever it comes from."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        start_tracing(self._tracer)  # the task of a request need not inherit the context of the service
        method = scope["method"]
        with span(method, SpanKind.SERVER, parent=_parent(scope), method=method) as current:

            async def reply(message: Message) -> None:
                if message["type"] == "http.response.start":
                    current.set(http_status=message["status"])
                    if message["status"] >= 500:  # a rejected request is no failure of the server
                        current.fail(str(message["status"]))
                await send(message)

            await self._app(scope, receive, reply)
            route = _route(scope)
            current.rename(f"{method} {route}".rstrip())
            current.set(route=route, request=scope.get("tocsin.request_id", ""))


def _parent(scope: Scope) -> str:
    found = header_values(scope, TRACEPARENT.encode())
    return valid_traceparent(found[0]) if len(found) == 1 else ""


def _route(scope: Mapping[str, object]) -> str:
    """Return the path of the route, without the values in it."""
    return str(scope.get("tocsin.route") or getattr(scope.get("route"), "path", ""))
