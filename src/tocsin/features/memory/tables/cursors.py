"""Where the next page of a listing begins, as a text for callers."""

import base64
import json
from typing import Any

from tocsin.features.memory.model import InvalidEntryError


def cursor_of(sort: str, place: Any, at: float, last: int) -> str:
    """Return the cursor behind a row: what it is sorted by, when the listing began, and the ID of the row."""
    return base64.urlsafe_b64encode(json.dumps([sort, place, at, last]).encode()).decode().rstrip("=")


def place_of(cursor: str, sort: str) -> tuple[Any, float, int]:
    """Return what a cursor says; raises InvalidEntryError for one of another listing."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        found, place, at, last = json.loads(raw)
        usable = found == sort and isinstance(place, str if sort == "key" else float | int)
        if usable and isinstance(at, float) and isinstance(last, int):
            return place, at, last
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidEntryError("the cursor does not belong to this listing", hint="begin with the first page")
