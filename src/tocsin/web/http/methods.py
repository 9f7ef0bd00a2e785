"""The methods of a path: the response to OPTIONS, and to an unsupported method."""

from collections.abc import Collection, Iterable

from starlette.routing import BaseRoute, Match
from starlette.types import Send

from tocsin.rest.problems import HttpProblemError


def find_methods(routes: Iterable[BaseRoute], path: str) -> frozenset[str]:
    """Return the methods of a path, without HEAD and OPTIONS, which are always supported."""
    asked = {"type": "http", "path": path, "method": "", "root_path": ""}
    found: set[str] = set()
    for route in routes:
        if route.matches(asked)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or {"GET"}
    return frozenset(found - {"HEAD"})


async def send_methods(methods: Collection[str], send: Send) -> None:
    """Send the response to OPTIONS."""
    await send({"type": "http.response.start", "status": 204, "headers": [(b"allow", _allow(methods).encode())]})
    await send({"type": "http.response.body", "body": b""})


def not_allowed(methods: Collection[str], *, options: bool = True) -> HttpProblemError:
    """Return the problem about an unsupported method; `options` is whether the path answers OPTIONS."""
    headers = {"Allow": _allow(methods, options=options)}
    return HttpProblemError("method-not-allowed", "This path does not allow that method.", headers=headers)


def _allow(methods: Collection[str], *, options: bool = True) -> str:
    implied = {"HEAD": "GET" in methods, "OPTIONS": options}
    return ", ".join(sorted({*methods, *(name for name, given in implied.items() if given)}))
