"""Read untrusted input: shape, size and encoding are all checked.

Every function returns something harmless for what it cannot use, and none raises.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tocsin.core.text.strings import normalise

MAX_ID_CHARS = 128
MAX_NAME_CHARS = 200
MAX_TEXT_CHARS = 40_000  # no product takes a longer message from a person
_MOST_FIELDS = 100
_MAX_WHOLE = 2**53  # what every JSON reader and SQLite can hold


def json_object(raw: bytes | str) -> dict[str, Any] | None:
    """Return the JSON object that `raw` (UTF-8) is, or nothing when it is anything else."""
    import json

    try:
        # Given bytes, json would also read UTF-16 and UTF-32. A million digits are a ValueError.
        document = json.loads(raw.decode() if isinstance(raw, bytes) else raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def within(document: object, *names: str) -> dict[str, Any]:
    """Return the object at that path of nested objects, or an empty one."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def objects(value: object, most: int) -> list[dict[str, Any]]:
    """Return up to `limit` objects of a list."""
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
    """Return a provider's ID, or an empty text for what cannot be one."""
    usable = isinstance(value, str) and len(value) <= MAX_ID_CHARS and value.isascii() and value.isprintable()
    return str(value) if usable and " " not in str(value) else ""


def whole(value: object) -> int | None:
    """Return a whole number of a size that can be stored; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _MAX_WHOLE else None


def form_fields(raw: bytes) -> Mapping[str, str]:
    """Return the fields of a URL-encoded form in UTF-8, the first of each name; empty when it is not one."""
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
