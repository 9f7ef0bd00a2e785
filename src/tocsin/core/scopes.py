"""What callers may do: the scopes of tokens, and of those who sign in."""

from collections.abc import Iterable, Mapping
from typing import Any

# In the order in which they are shown. Those who sign in have all of them.
SCOPES = ("read", "send", "run", "answer", "admin")
ALL_SCOPES = frozenset(SCOPES)
# What `admin` includes. Answering is left out: an agent that may start everything must not approve it, too.
OF_ADMIN = ALL_SCOPES - {"answer"}


def allowed_by(scopes: Iterable[str]) -> frozenset[str]:
    """Return all that a token with these scopes may do."""
    held = frozenset(scopes)
    return held | OF_ADMIN if "admin" in held else held


def may_read(request: Mapping[str, Any]) -> bool:
    """Whether the caller of a request, by its ASGI scope, may see what is stored."""
    return "read" in request.get("tocsin.scopes", ())
