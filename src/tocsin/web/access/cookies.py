"""The cookie of a session: `session`, or `__Host-session` if the request was encrypted with TLS."""

from starlette.types import Scope

from tocsin.rest.headers import header_values
from tocsin.web.access.sessions import REMEMBERED_S, LoginSession
from tocsin.web.http.asgi import is_encrypted

NAME = "session"
# A browser accepts a cookie with this prefix only with `Secure`, `Path=/` and from the same host: other hosts of the
# domain cannot set it. Source: RFC 6265bis, section 4.1.3.2.
SECURE_NAME = f"__Host-{NAME}"
_USUAL = "Path=/; HttpOnly; SameSite=Strict"


def read_session_id(scope: Scope) -> str:
    """Return the value of the session cookie; empty if there is none."""
    name = _name(scope)
    for line in header_values(scope, b"cookie"):
        for pair in line.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
    return ""


def session_cookie(scope: Scope, session: LoginSession) -> str:
    """Return the header that sets the session cookie; without `remember` it ends with the browser session."""
    age = f"; Max-Age={int(REMEMBERED_S)}" if session.remember else ""
    return f"{_name(scope)}={session.id}; {_usual(scope)}{age}"


def no_cookie(scope: Scope) -> str:
    """Return the header that deletes the session cookie."""
    return f"{_name(scope)}=; {_usual(scope)}; Max-Age=0"


def _name(scope: Scope) -> str:
    return SECURE_NAME if is_encrypted(scope) else NAME


def _usual(scope: Scope) -> str:
    return f"{_USUAL}; Secure" if is_encrypted(scope) else _USUAL
