"""Read values from JSON whose types may be wrong; never raise."""

from typing import Any

from tocsin.channels.botchat.settings import LARGEST_CHAT_ID

LARGEST_TIME_S = 2**40  # far beyond any calendar
LONGEST_ID = 200


def record(value: object) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty dictionary."""
    return value if isinstance(value, dict) else {}


def records(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def words(value: object, max_chars: int | None = None) -> str:
    """Return `value` if it is a string, cut to `max_chars`, else an empty string."""
    return decode_utf16(value.encode("utf-16-le", "surrogatepass"))[:max_chars] if isinstance(value, str) else ""


def decode_utf16(units: bytes) -> str:
    """Decode UTF-16 units; drop NUL, and replace each unpaired surrogate with U+FFFD."""
    return units.decode("utf-16-le", "replace").replace("\0", "")


def identifier(value: object) -> str:
    """Return `value` as an ID if it is a string or number that can be one, else an empty string."""
    found = words(value) if number(value) is None else str(value)
    return found if len(found) <= LONGEST_ID else ""


def number(value: object) -> int | None:
    """Return `value` if it is an integer of at most 52 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_CHAT_ID:
        return None
    return value


def count(value: object) -> int | None:
    """Return `value` if it is a valid size or length."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def time_s(value: object) -> float:
    """Return `value` if it is a Unix time, else 0."""
    found = number(value) or 0
    return float(found) if 0 < found < LARGEST_TIME_S else 0.0
