"""The message gateway: sending over HTTP (spec 4.1), in plain Starlette because `/send` is the hot path."""

import json
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin import __version__
from tocsin.channels.contract import Receipt
from tocsin.channels.registry import Registry
from tocsin.core.audit_trail import AuditTrail
from tocsin.core.clock import Clock
from tocsin.core.errors import UnknownChannelError
from tocsin.core.ratelimit import RateLimiter
from tocsin.core.security import is_loopback
from tocsin.core.settings import Settings
from tocsin.core.variables import GATEWAY_HOST, GATEWAY_TOKEN, RATE_LIMIT_PER_IP, RATE_LIMIT_PER_USER, TRUSTED_PROXIES
from tocsin.messaging.messenger import Caller, Messenger
from tocsin.web.asgi import BearerToken, HttpsOnly, LocalNames, RateLimits, RequestScope, header_values, read_body
from tocsin.web.metrics import CONTENT_TYPE, Metrics
from tocsin.web.openapi import describe_gateway
from tocsin.web.problems import Problem

Handler = Callable[[Scope, Receive], Awaitable[Response]]
Pairs = tuple[tuple[str, Any], ...]
Finding = Callable[[], dict[str, str]]

SEND_FIELDS = ("channel", "target", "message")
MAX_ERRORS = 10  # that one answer lists: finding likely names costs time, and the body may hold 100,000 keys


@dataclass(frozen=True, slots=True)
class Parts:
    """What the gateway is handed; `draining` says whether it is about to stop."""

    settings: Settings
    clock: Clock
    audit: AuditTrail
    registry: Registry
    messenger: Messenger
    draining: Callable[[], bool] = lambda: False


def build_gateway(parts: Parts) -> ASGIApp:
    """Return the gateway as an ASGI application."""
    metrics = Metrics()
    parts.messenger.observe(metrics.count_send)
    router = Router(routes(Gateway(parts, metrics)), redirect_slashes=False)
    return _guarded(router, parts, metrics)


def routes(gateway: "Gateway") -> list[Route]:
    """Return every route; `protected` ones need the token where one is set."""

    def route(method: str, path: str, handler: Handler, *, protected: bool = False) -> Route:
        return Route(path, Endpoint(path, handler, protected=protected and gateway.has_token), methods=[method])

    return [
        route("POST", "/send", gateway.send, protected=True),
        route("GET", "/health", gateway.health),
        route("GET", "/channels", gateway.channels),
        route("GET", "/metrics", gateway.metrics, protected=True),
        route("GET", "/openapi.json", gateway.openapi),
    ]


def _guarded(router: Router, parts: Parts, metrics: Metrics) -> ASGIApp:
    """Put the layers that every request passes around `router`, innermost first."""
    settings = parts.settings

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # makes the router raise its 404 and 405 instead of answering in plain text
        await router(scope, receive, send)

    monotonic = parts.clock.monotonic
    guarded: ASGIApp = routed
    if settings.https_enforced:
        guarded = HttpsOnly(guarded)
    if not settings[GATEWAY_TOKEN] and is_loopback(settings[GATEWAY_HOST]):
        guarded = LocalNames(guarded)
    guarded = RateLimits(
        guarded,
        RateLimiter(settings[RATE_LIMIT_PER_IP], monotonic),
        RateLimiter(settings[RATE_LIMIT_PER_USER], monotonic),
    )
    if settings[GATEWAY_TOKEN]:
        guarded = BearerToken(guarded, settings[GATEWAY_TOKEN])

    def count(scope: Scope, status: int) -> None:
        metrics.count_request(scope.get("tocsin.route", "other"), status)

    return RequestScope(guarded, settings[TRUSTED_PROXIES], count)


class Endpoint:
    """One route as an ASGI application: checks the token, then sends what the handler returns."""

    def __init__(self, path: str, handler: Handler, *, protected: bool) -> None:
        self._path = path
        self._handler = handler
        self._protected = protected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["tocsin.route"] = self._path
        if self._protected and not scope.get("tocsin.user"):
            raise Problem(
                "unauthenticated",
                "This needs the header `Authorization: Bearer <GATEWAY_TOKEN>`.",
                headers={"WWW-Authenticate": 'Bearer realm="gateway"'},
            )
        response = await self._handler(scope, receive)
        await response(scope, receive, send)


class Gateway:
    """The handlers of the gateway's routes."""

    def __init__(self, parts: Parts, metrics: Metrics) -> None:
        self._parts = parts
        self._metrics = metrics
        self.has_token = bool(parts.settings[GATEWAY_TOKEN])

    async def send(self, scope: Scope, receive: Receive) -> Response:
        """POST /send: send one message and answer with its send result."""
        body = parse_send(_media_type(scope), await read_body(scope, receive))
        facts = {"ip": scope["tocsin.client"], "request_id": scope["tocsin.request_id"]}
        if user := scope.get("tocsin.user"):
            facts["actor"] = user
        receipt = await self._parts.messenger.send(
            body["channel"], body["target"], body["message"], Caller("gateway", facts)
        )
        return _json(receipt.result.as_dict(), _status(receipt))

    async def health(self, scope: Scope, receive: Receive) -> Response:
        """GET /health: whether the service can work, and which channels are configured."""
        # The reason holds a path of this machine: it is for the log, not for everybody who asks.
        problems = ["the audit log cannot be written; the log says why"] if self._parts.audit.problem else []
        draining = self._parts.draining()
        status = "draining" if draining else "degraded" if problems else "ok"
        document: dict[str, object] = {
            "status": status,
            "version": __version__,
            "channels": {
                state.spec.kind: "configured" if state.configured else "unconfigured"
                for state in self._parts.registry.states()
            },
        }
        if problems:
            document["problems"] = problems
        return _json(document, 200 if status == "ok" else 503)

    async def channels(self, scope: Scope, receive: Receive) -> Response:
        """GET /channels: the kinds of the configured channels."""
        return _json(self._parts.registry.configured())

    async def metrics(self, scope: Scope, receive: Receive) -> Response:
        """GET /metrics: all numbers, for Prometheus."""
        return Response(self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(self, scope: Scope, receive: Receive) -> Response:
        """GET /openapi.json: the description of this interface."""
        return _json(describe_gateway(self._parts.registry.kinds()))


def parse_send(media_type: str, raw: bytes) -> dict[str, str]:
    """Return channel, target and message of a request body, or raise the problem it has."""
    pairs = parse_json_object(media_type, raw)
    body = dict(pairs)
    errors = [*_unknown_or_doubled(pairs), *_missing_or_mistyped(body)]
    if errors:
        count = "1 field needs" if len(errors) == 1 else f"{len(errors)} fields need"
        shown = f"; the first {MAX_ERRORS} are listed" if len(errors) > MAX_ERRORS else ""
        raise Problem("validation-failed", f"{count} attention{shown}", [error() for error in errors[:MAX_ERRORS]])
    return body


def _unknown_or_doubled(pairs: Pairs) -> Iterator[Finding]:
    seen = set()
    for key, _ in pairs:
        if key not in SEND_FIELDS:
            yield partial(_unknown, key)
        elif key in seen:
            yield partial(_error, key, "duplicate-key", "It stands there more than once")
        seen.add(key)


def _missing_or_mistyped(body: Mapping[str, object]) -> Iterator[Finding]:
    for key in SEND_FIELDS:
        if key not in body:
            yield partial(_error, key, "missing-key", "Required")
        elif not isinstance(body[key], str):
            yield partial(_error, key, "wrong-type", "It must be a string")


def _unknown(key: str) -> dict[str, str]:
    from difflib import get_close_matches

    close = get_close_matches(key[:100], SEND_FIELDS, n=1)
    suggestion = {"suggestion": close[0]} if close else {}
    return _error(key, "unknown-key", "Unknown field") | suggestion


def _error(key: str, code: str, detail: str) -> dict[str, str]:
    from urllib.parse import quote

    # RFC 6901, sections 3 and 6: escaped as a pointer, then as the fragment of a URL.
    pointer = quote(key[:100].replace("~", "~0").replace("/", "~1"), errors="surrogatepass")
    return {"pointer": f"#/{pointer}", "code": code, "detail": detail, "key": key[:100]}


def parse_json_object(media_type: str, raw: bytes) -> Pairs:
    """Return the members of the JSON object in `raw`; raise 415, 400 or 422 when there is none."""
    if media_type != "application/json":
        found = media_type or "no Content-Type"
        raise Problem(
            "unsupported-media-type",
            f"The body must be JSON with `Content-Type: application/json`, not {found[:100]}.",
        )
    try:
        # RFC 8259, section 8.1: UTF-8 and nothing else; a byte order mark may be ignored.
        body = _decode(raw.removeprefix(BOM_UTF8).decode())
    except (ValueError, RecursionError):
        raise Problem("invalid-request", "The body is not valid JSON in UTF-8.") from None
    if not isinstance(body, tuple):
        raise Problem("validation-failed", "The body must be a JSON object.")
    return body


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"JSON has no {word}")


# Made once: json.loads and json.dumps with arguments make a new one every time. An object becomes a
# tuple of its members, so that a key that stands there twice is seen; an array is a list.
_decode = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_no_number).decode
_encode = json.JSONEncoder(separators=(",", ":")).encode


def _media_type(scope: Scope) -> str:
    if [coding for coding in header_values(scope, b"content-encoding") if coding.strip().lower() != "identity"]:
        raise Problem("unsupported-media-type", "Compressed bodies are not accepted.")
    values = header_values(scope, b"content-type")
    if len(values) > 1:
        raise Problem("unsupported-media-type", "Content-Type stands there more than once.")
    return values[0].partition(";")[0].strip().lower() if values else ""


def _status(receipt: Receipt) -> int:
    if receipt.result.ok:
        return 200
    # A provider may use the same word; only without an attempt is it ours.
    unknown = receipt.failure is not None and receipt.failure.provider_code == UnknownChannelError.code
    return 404 if unknown and not receipt.attempts else 502


def _json(document: object, status: int = 200) -> Response:
    return Response(_encode(document), status, {"Cache-Control": "no-store"}, "application/json")
