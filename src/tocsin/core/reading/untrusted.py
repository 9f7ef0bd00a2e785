"""Read untrusted input: type, size and encoding are all checked.

Every function returns a safe fallback for invalid input, and none raises.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tocsin.core.text.strings import normalise

MAX_ID_CHARS = 128
MAX_NAME_CHARS = 200
MAX_TEXT_CHARS = 40_000  # no product accepts a longer message from a user
_MOST_FIELDS = 100
_MAX_WHOLE = 2**53  # every JSON parser and SQLite can represent it


def json_object(raw: bytes | str) -> dict[str, Any] | None:
    """Parse `raw` (UTF-8) as a JSON object; return `None` for anything else."""
    import json

    try:
        # Given bytes, json would also decode UTF-16 and UTF-32. A million digits raise ValueError.
        document = json.loads(raw.decode() if isinstance(raw, bytes) else raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def within(document: object, *names: str) -> dict[str, Any]:
    """Return the object at a path of nested objects, or an empty one."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def objects(value: object, most: int) -> list[dict[str, Any]]:
    return [item for item in value[:most] if isinstance(item, dict)] if isinstance(value, list) else []


def clean_text(value: object, limit: int = MAX_TEXT_CHARS) -> str:
    """Return a text, cut at `limit` characters: line ends are LF, no NUL, no lone surrogates."""
    return normalise(value[:limit]) if isinstance(value, str) else ""


def named(*values: object) -> str:
    """Return the first name among `values` on one line, or an empty text."""
    for value in values:
        if name := " ".join(clean_text(value, MAX_NAME_CHARS).split()):
            return name if name.isprintable() else "".join(char for char in name if char.isprintable())
    return ""


def identifier(value: object) -> str:
    """Return a provider's ID, or an empty text for an invalid one."""
    usable = isinstance(value, str) and len(value) <= MAX_ID_CHARS and value.isascii() and value.isprintable()
    return str(value) if usable and " " not in str(value) else ""


def whole(value: object) -> int | None:
    """Return an integer within the storable range, else `None`; `true` is not an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _MAX_WHOLE else None


def form_fields(raw: bytes) -> Mapping[str, str]:
    """Parse a URL-encoded form in UTF-8; return the first value of each name, or no fields if it is invalid."""
    from urllib.parse import parse_qsl

    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    return _first_of_each(pairs)


def _first_of_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a valid JSON number")
