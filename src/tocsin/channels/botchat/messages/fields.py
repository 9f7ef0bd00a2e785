"""Read values from JSON whose types may be wrong, without raising."""

from typing import Any

from tocsin.channels.botchat.settings import LARGEST_CHAT_ID

LARGEST_TIME_S = 2**40  # far beyond every calendar
LONGEST_ID = 200


def record(value: object) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def records(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def words(value: object, max_chars: int | None = None) -> str:
    """Return `value` if it is a text, cut at `max_chars`, else an empty one."""
    return decode_utf16(value.encode("utf-16-le", "surrogatepass"))[:max_chars] if isinstance(value, str) else ""


def decode_utf16(units: bytes) -> str:
    """Return the text of UTF-16 units, without NUL and with U+FFFD for every half of a character pair."""
    return units.decode("utf-16-le", "replace").replace("\0", "")


def identifier(value: object) -> str:
    """Return `value` if it is a text or a number that can be an ID, else an empty one."""
    found = words(value) if number(value) is None else str(value)
    return found if len(found) <= LONGEST_ID else ""


def number(value: object) -> int | None:
    """Return `value` if it is a whole number of at most 52 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_CHAT_ID:
        return None
    return value


def count(value: object) -> int | None:
    """Return `value` if it is a size or a length."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def time_s(value: object) -> float:
    """Return `value` if it is a Unix time, else 0."""
    found = number(value) or 0
    return float(found) if 0 < found < LARGEST_TIME_S else 0.0
