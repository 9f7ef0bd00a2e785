"""The responses to rejected callers: the missing credentials, and how to send them."""

from starlette.types import Scope

from tocsin.core.errors import TocsinError
from tocsin.rest.headers import header_values
from tocsin.rest.problems import HttpProblemError
from tocsin.web.access.throttle import RETRY_AFTER_S
from tocsin.web.http.asgi import is_cross_site

_BASIC = 'Basic realm="dashboard", charset="UTF-8"'
_KNOWN = frozenset({"invalid-credentials", "rate-limited", "not-ready"})


def unauthenticated(scope: Scope, detail: str, *, bearer: bool = False) -> HttpProblemError:
    """Return the 401 response; `bearer` is True if a token was sent."""
    challenge = 'Bearer realm="dashboard", error="invalid_token"' if bearer else _challenge(scope)
    return HttpProblemError("unauthenticated", detail, headers={"WWW-Authenticate": challenge})


def login_refusal(scope: Scope, error: TocsinError) -> HttpProblemError:
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
    """Return the challenge for name and password, or for a page one that opens no dialog of the browser."""
    by_page = "dashboard" in header_values(scope, b"x-requested-with")
    # Requests of a page's script, such as an event stream, which may not be able to set headers.
    fetched = "empty" in header_values(scope, b"sec-fetch-dest")
    return "Session" if by_page or fetched or is_cross_site(scope) else _BASIC
