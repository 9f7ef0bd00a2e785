"""The ASGI layers that only the dashboard has."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import Token
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.core.audit.trail import AUDITED_CALLER, AuditedCaller
from tocsin.core.scopes import may_read
from tocsin.core.short_ids import complete_ids
from tocsin.delivery.files.intake import FileIntake
from tocsin.rest.callers import DASHBOARD, audit_facts, require_scope
from tocsin.rest.headers import FORM_DATA, JSON
from tocsin.rest.operations import Operation
from tocsin.rest.reading import StrictRequest
from tocsin.web.http.asgi import read_body
from tocsin.web.http.forms import is_form, read_form
from tocsin.web.http.methods import send_methods

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class ApiHeaders:
    """Adds the common headers of responses below /api: no caching, no type sniffing, and the remaining rate limit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api"):
            await self._app(scope, receive, send)
            return

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add(message, scope)
            await send(message)

        await self._app(scope, receive, reply)


def _add(message: MutableMapping[str, Any], scope: Scope) -> None:
    headers = message["headers"]
    headers.append((b"x-content-type-options", b"nosniff"))  # so that browsers show the output of runs as text
    if not any(name == b"cache-control" for name, _ in headers):
        headers.append((b"cache-control", b"no-store"))
    if "tocsin.limit" in scope:
        limit, tokens_left = scope["tocsin.limit"]
        left = int(tokens_left())
        # draft-ietf-httpapi-ratelimit-headers: the time until the bucket has refilled.
        wait = round((limit - left) * 60 / limit)
        headers.append((b"ratelimit-policy", b'"default";q=%d;w=60' % limit))
        headers.append((b"ratelimit", b'"default";r=%d;t=%d' % (left, wait)))


class WholeBody:
    """Reads a request's body before its route, within the same limits as the gateway.

    A form with files, where an operation takes one, becomes a JSON body; the scope gets the items of `attach`.
    """

    def __init__(self, app: ASGIApp, operations: Iterable[Operation], files: Callable[[], FileIntake]) -> None:
        self._app = app
        self._with_files = [each for each in operations if FORM_DATA in each.media]
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            await self._app(scope, receive, send)
            return
        given = False
        if is_form(scope) and (operation := self._find(scope)):
            require_scope(scope, operation.needs)  # before anything is stored
            body, scope["tocsin.files"] = await read_form(scope, receive, self._files())
            others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
            scope["headers"] = [*others, (b"content-type", JSON.encode())]
            scope.pop("tocsin.headers")  # those that were parsed before
        else:
            body = await read_body(scope, receive)
        scope["tocsin.body"] = body

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    def _find(self, scope: Scope) -> Operation | None:
        return next((each for each in self._with_files if each.matches(scope)[0] is Match.FULL), None)


class DirectOperations:
    """Serves the operations that need no framework, which would take longer than the operations themselves."""

    def __init__(self, app: Starlette, operations: Iterable[Operation]) -> None:
        self._app = app
        self._known = {
            (method, each.path): each for each in operations if each.is_direct for method in each.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._known.get((scope.get("method", ""), scope.get("path", "")))
        if operation is None:
            await self._app(scope, receive, send)
            return
        scope["app"], scope["route"] = self._app, operation
        response = await operation.answer(StrictRequest(scope, receive))
        await response(scope, receive, send)


class CallerFacts:
    """Sets the caller for the audit entries of the request, and whether it may use short IDs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token: Token[AuditedCaller | None] = AUDITED_CALLER.set(AuditedCaller(DASHBOARD.name, audit_facts(scope)))
        try:
            with complete_ids(required=not may_read(scope)):
                await self._app(scope, receive, send)
        finally:
            AUDITED_CALLER.reset(token)


class HeadAndOptions:
    """Serves HEAD as GET without a body, and OPTIONS with the methods of a path."""

    def __init__(self, app: ASGIApp, find_methods: Callable[[str], frozenset[str]]) -> None:
        self._app = app
        self._methods_of = find_methods

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and (methods := self._methods_of(scope["path"])):
            return send_methods(methods, send)
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return self._app(scope, receive, send)
        return self._answer_head(scope, receive, send)

    async def _answer_head(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = asyncio.Event()

        async def without_body(message: Message) -> None:
            if answered.is_set():
                return
            if message["type"] == "http.response.body":
                answered.set()  # a stream would never end
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        async def until_answered() -> Message:
            """Receive the next message, or report a disconnect once the response was sent."""
            arrives, ends = asyncio.ensure_future(receive()), asyncio.ensure_future(answered.wait())
            try:
                await asyncio.wait([arrives, ends], return_when=asyncio.FIRST_COMPLETED)
                return {"type": "http.disconnect"} if answered.is_set() else arrives.result()
            finally:
                arrives.cancel()
                ends.cancel()

        asked = {**scope, "method": "GET", "tocsin.is_head": True, "tocsin.send_body": without_body}
        await self._app(asked, until_answered, without_body)
