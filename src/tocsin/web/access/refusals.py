"""The answers to those who may not: what is missing, and how to prove who one is."""

from starlette.types import Scope

from tocsin.core.errors import TocsinError
from tocsin.rest.headers import header_values
from tocsin.rest.problems import HttpProblemError
from tocsin.web.access.throttle import RETRY_AFTER_S
from tocsin.web.http.asgi import is_of_other_site

_BASIC = 'Basic realm="dashboard", charset="UTF-8"'
_KNOWN = frozenset({"invalid-credentials", "rate-limited", "not-ready"})


def unauthenticated(scope: Scope, detail: str, *, bearer: bool = False) -> HttpProblemError:
    """Return the 401 answer; `bearer` is whether a token was shown."""
    challenge = 'Bearer realm="dashboard", error="invalid_token"' if bearer else _challenge(scope)
    return HttpProblemError("unauthenticated", detail, headers={"WWW-Authenticate": challenge})


def refusal_of(scope: Scope, error: TocsinError) -> HttpProblemError:
    """Return the answer to a login that failed."""
    sentence = error.sentence()
    detail = f"{sentence[:1].upper()}{sentence[1:]}."
    code = error.code if error.code in _KNOWN else "not-ready"
    headers = {}
    if code == "invalid-credentials":
        headers = {"WWW-Authenticate": _challenge(scope)}
    elif code == "rate-limited":
        headers = {"Retry-After": str(RETRY_AFTER_S)}
    return HttpProblemError(code, detail, headers=headers)


def _challenge(scope: Scope) -> str:
    """Ask for name and password, or, where a page asks, for nothing at which a browser would show a box of its own."""
    by_page = "dashboard" in header_values(scope, b"x-requested-with")
    # What a script of a page fetches, an event stream for instance: it may not be able to set headers.
    fetched = "empty" in header_values(scope, b"sec-fetch-dest")
    return "Session" if by_page or fetched or is_of_other_site(scope) else _BASIC
