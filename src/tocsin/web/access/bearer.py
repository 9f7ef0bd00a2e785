"""The tokens of the gateway's callers: GATEWAY_TOKEN, which has all scopes, and those of `tocsin tokens`."""

from collections.abc import Awaitable
from hashlib import sha256
from hmac import compare_digest

from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.scopes import ALL_SCOPES
from tocsin.rest.headers import header_values
from tocsin.rest.problems import HttpProblemError
from tocsin.web.access.tokens import ApiTokens, is_api_token
from tocsin.web.http.asgi import EXEMPT_PATHS

# The name that requests with GATEWAY_TOKEN are counted and recorded under.
GATEWAY_USER = "token"
_NEEDED = (
    "send the header `Authorization: Bearer <token>` with the value of GATEWAY_TOKEN, or with a token "
    "from `tocsin tokens create`"
)


class BearerTokens:
    """Records the owner of a request's token, or its error; routes that need a token reject the request."""

    def __init__(self, app: ASGIApp, gateway_token: str, tokens: ApiTokens) -> None:
        """Without a `gateway_token`, only tokens with the prefix of `tokens` are checked."""
        self._app = app
        self._digest = sha256(gateway_token.encode()).digest() if gateway_token else b""
        self._tokens = tokens

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        values = header_values(scope, b"authorization")
        scheme, _, text = values[0].partition(" ") if values else ("", "", "")
        text = text.strip()
        readable = len(values) == 1 and scheme.lower() == "bearer" and bool(text)
        checked = scope["path"] not in EXEMPT_PATHS  # these paths also answer while tokens cannot be checked
        if checked and readable and is_api_token(text) and not self._is_gateway_token(text):
            return self._with_api_token(text, scope, receive, send)
        problem = ""
        if self._digest and not values:
            problem = f"The token is missing: {_NEEDED}."
        elif self._digest and not readable:
            problem = f"The Authorization header is not a bearer token, or is repeated: {_NEEDED}."
        elif self._digest and not self._is_gateway_token(text):
            problem = f"The token is wrong: {_NEEDED}."
        _note(scope, GATEWAY_USER if self._digest and not problem else "", ALL_SCOPES, problem)
        return self._app(scope, receive, send)

    async def _with_api_token(self, text: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            token = await self._tokens.find(text)
        except StoreUnavailableError:  # the log and `doctor` give the reason
            raise HttpProblemError("not-ready", "Tokens cannot be checked now. Try again later.") from None
        if token is None:
            _note(scope, "", frozenset(), f"The token is wrong or was revoked: {_NEEDED}.")
        else:
            _note(scope, token.user, token.allows, "")
            scope["tocsin.profiles"] = token.profiles
        await self._app(scope, receive, send)

    def _is_gateway_token(self, text: str) -> bool:
        return compare_digest(sha256(text.encode("latin-1")).digest(), self._digest)


def _note(scope: Scope, user: str, scopes: frozenset[str], problem: str) -> None:
    scope["tocsin.user"], scope["tocsin.scopes"] = user, scopes
    scope["tocsin.token_problem"] = problem


def require_token(scope: Scope, needed: str, *, optional: bool) -> None:
    """Raise the response to an invalid token, or to one whose scopes lack `needed`.

    If a token is `optional`, a request without one is accepted, but a token that is sent must be valid for the route.
    """
    problem = scope["tocsin.token_problem"]
    if not scope["tocsin.user"]:
        if optional and not problem:
            return
        # RFC 6750, section 3.1: only a request with a token gets an error.
        error = ', error="invalid_token"' if header_values(scope, b"authorization") else ""
        raise HttpProblemError("unauthenticated", problem, headers=_challenge(error))
    if needed not in scope["tocsin.scopes"]:
        error = f', error="insufficient_scope", scope="{needed}"'
        raise HttpProblemError(
            "forbidden", f"This operation requires a token with the scope {needed}.", headers=_challenge(error)
        )


def _challenge(error: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'Bearer realm="gateway"{error}'}
