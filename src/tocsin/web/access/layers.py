"""The ASGI layers of the dashboard that authenticate callers, and reject unknown callers and cross-site requests."""

import binascii
from base64 import b64decode
from collections.abc import Awaitable
from functools import partial
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.core.errors import TocsinError
from tocsin.core.scopes import ALL_SCOPES
from tocsin.rest.headers import header_values
from tocsin.rest.problems import HttpProblemError
from tocsin.web.access.cookies import read_session_id, session_cookie
from tocsin.web.access.refusals import login_refusal, unauthenticated
from tocsin.web.access.sessions import LoginSession
from tocsin.web.access.sign_in import SignIns, Visitor
from tocsin.web.access.tokens import ApiTokens
from tocsin.web.http.asgi import EXEMPT_PATHS, SAFE_METHODS, is_cross_site

PROTECTED_PATHS = "/api/"
# The routes that read the credentials themselves.
_OF_LOGIN = ("/login", "/logout", "/login/link/")


class AuthenticatedCaller(NamedTuple):
    """The authenticated caller of a request, its scopes and the kind of its credentials."""

    user: str = ""  # empty: unknown
    scopes: frozenset[str] = frozenset()
    login: str = ""  # `basic`, `session` or `token`
    session: LoginSession | None = None


class Authentication:
    """Authenticates the caller and rejects no request: some routes need no login.

    It sets these keys of the scope, prefixed with `tocsin.`: `user`, `scopes` and `login`; for unknown callers
    `refusal`, the response of routes that need a login; `still_allowed`, which repeats the check, for long-lived
    responses.
    """

    def __init__(self, app: ASGIApp, sign_ins: SignIns, tokens: ApiTokens) -> None:
        self._app = app
        self._sign_ins = sign_ins
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity = AuthenticatedCaller()
        if scope["type"] == "http" and scope["path"] not in EXEMPT_PATHS and not _is_login(scope["path"]):
            try:
                identity = await self._identify(scope)
            except HttpProblemError as refusal:
                scope["tocsin.refusal"] = refusal
        scope["tocsin.user"], scope["tocsin.scopes"] = identity.user, identity.scopes
        scope["tocsin.login"] = identity.login
        session = identity.session
        renewed = session if session and session.renewed and session.remember else None
        await self._app(scope, receive, _with_cookie(scope, send, renewed) if renewed else send)

    async def _identify(self, scope: Scope) -> AuthenticatedCaller:
        """Return the caller; raise the response to an unknown caller."""
        values = header_values(scope, b"authorization")
        try:
            if not values:
                return await self._by_session(scope)
            self._sign_ins.require_configured()
            scheme, _, credentials = values[0].partition(" ")
            if len(values) == 1 and scheme.lower() == "bearer":
                return await self._by_token(scope, credentials.strip())
            if len(values) == 1 and scheme.lower() == "basic":
                if is_cross_site(scope):  # a page could lock the login with wrong passwords in its links
                    raise unauthenticated(
                        scope, "User name and password are not accepted in requests from pages of other sites."
                    )
                return await self._by_basic(scope, credentials.strip())
        except TocsinError as error:
            raise login_refusal(scope, error) from None
        raise unauthenticated(scope, "The Authorization header is repeated, or is neither Basic nor Bearer.")

    async def _by_session(self, scope: Scope) -> AuthenticatedCaller:
        session_id = read_session_id(scope)
        self._sign_ins.require_configured()
        if not session_id:
            raise unauthenticated(scope, "Authentication is required: user name and password, a session, or a token.")
        session = await self._sign_ins.find(session_id)
        if session is None:
            raise unauthenticated(scope, "The session has ended. Sign in again.")
        scope["tocsin.still_allowed"] = partial(self._sign_ins.is_open, session_id)
        return AuthenticatedCaller(session.user, ALL_SCOPES, "session", session)

    async def _by_token(self, scope: Scope, text: str) -> AuthenticatedCaller:
        token = await self._tokens.find(text)
        if token is None:
            raise unauthenticated(scope, "The token is wrong or was revoked.", bearer=True)
        scope["tocsin.still_allowed"] = partial(self._tokens.is_good, text)
        scope["tocsin.profiles"] = token.profiles
        return AuthenticatedCaller(token.user, token.allows, "token")

    async def _by_basic(self, scope: Scope, credentials: str) -> AuthenticatedCaller:
        try:
            # RFC 7617, section 2.1: UTF-8, because the challenge says so.
            name, colon, password = b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            colon = ""
        if not colon:
            raise unauthenticated(
                scope, "The Authorization header does not contain a user name and password in UTF-8 and base64."
            )
        user = await self._sign_ins.by_basic(name, password, read_visitor(scope))
        return AuthenticatedCaller(user, ALL_SCOPES, "basic")


class LocalCaller:
    """Takes every request as one of the owner of a token, or, without a token, of the account that runs Tocsin."""

    def __init__(self, app: ASGIApp, tokens: ApiTokens, token: str, scopes: frozenset[str]) -> None:
        """`scopes` limit the account."""
        self._app = app
        self._tokens = tokens
        self._token = token
        self._scopes = scopes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = await self._tokens.find(self._token) if self._token else None
        scope["tocsin.user"] = token.user if token else "" if self._token else "local"
        scope["tocsin.scopes"] = token.allows if token else frozenset() if self._token else self._scopes
        scope["tocsin.login"] = "" if self._token and not token else "local"
        scope["tocsin.profiles"] = token.profiles if token else ()
        if not scope["tocsin.user"]:
            scope["tocsin.refusal"] = unauthenticated(scope, "The token is wrong or was revoked.", bearer=True)
        await self._app(scope, receive, send)


def read_visitor(scope: Scope) -> Visitor:
    """Return the origin of a request."""
    return Visitor(scope["tocsin.client"], scope["tocsin.request_id"])


def require_user(scope: Scope) -> None:
    """Raise the response to unknown callers: 401, 429 after too many wrong passwords, 503 if there is no login."""
    refusal: HttpProblemError | None = scope.get("tocsin.refusal")
    if refusal is not None:
        raise refusal
    if not scope.get("tocsin.user"):  # no layer has authenticated the request
        raise unauthenticated(scope, "Authentication is required.")


class KnownCallers:
    """Rejects requests of unknown callers to all of /api except its health, so that no operation can omit the check."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"].startswith(PROTECTED_PATHS) and scope["path"] not in EXEMPT_PATHS:
            require_user(scope)
        return self._app(scope, receive, send)


class SameOrigin:
    """Rejects changes that a page of another site makes a browser request.

    Browsers send cookies, and known Basic credentials, with such requests, too; they never add a bearer token by
    themselves.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS and scope.get("tocsin.login") != "token":
            _check_origin(scope)
        return self._app(scope, receive, send)


def _check_origin(scope: Scope) -> None:
    sites = header_values(scope, b"sec-fetch-site")
    if sites:
        allowed = set(sites) <= {"same-origin", "none"}
    else:  # an old browser, or another client
        origins = {origin.partition("://")[2].lower() for origin in header_values(scope, b"origin")}
        allowed = origins <= {host.lower() for host in header_values(scope, b"host")}
    if not allowed:
        raise HttpProblemError("cross-site-request", "The change was requested by a page of another site.")


def _is_login(path: str) -> bool:
    return path in _OF_LOGIN or path.startswith(_OF_LOGIN[-1])


def _with_cookie(scope: Scope, send: Send, session: LoginSession) -> Send:
    """Return a `send` that extends the cookie when its session was extended."""

    async def reply(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"].append((b"set-cookie", session_cookie(scope, session).encode()))
        await send(message)

    return reply
