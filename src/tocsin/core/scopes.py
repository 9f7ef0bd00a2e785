"""Scopes: the permissions of tokens and of signed-in users."""

from collections.abc import Iterable, Mapping
from typing import Any

# In display order. Signed-in users have all of them.
SCOPES = ("read", "send", "run", "answer", "admin")
ALL_SCOPES = frozenset(SCOPES)
# What `admin` includes: not answering, because an agent that may start everything must not approve it, too.
OF_ADMIN = ALL_SCOPES - {"answer"}


def allowed_by(scopes: Iterable[str]) -> frozenset[str]:
    """Return all scopes that a token with these scopes has."""
    held = frozenset(scopes)
    return held | OF_ADMIN if "admin" in held else held


def may_read(request: Mapping[str, Any]) -> bool:
    """Whether the caller of a request may read stored data; `request` is its ASGI scope."""
    return "read" in request.get("tocsin.scopes", ())
