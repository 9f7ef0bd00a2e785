"""The functions of rules. Each takes JSON values and returns one, and none raises for a value of another type."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tocsin.core.expressions.expression import ExpressionError, spell
from tocsin.core.expressions.parser import Vocabulary
from tocsin.core.expressions.patterns import compile_pattern
from tocsin.core.expressions.text import MAX_OUTPUT
from tocsin.core.text.strings import truncate
from tocsin.core.time.timestamps import duration_words
from tocsin.features.doors.severity import severity_of

NAMES = ("payload", "header", "query", "door", "message")
_MAX_ITEMS = 1_000
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def _first(*values: Any) -> Any:
    return next((each for each in values if each not in (None, "", [], {})), None)


def _cut(value: Any, most: Any) -> str:
    return truncate(spell(value), max(1, _whole(most)))


def _left(value: Any, most: Any) -> str:
    return spell(value)[: max(0, _whole(most))]


def _first_line(value: Any) -> str:
    return next((line.strip() for line in spell(value).splitlines() if line.strip()), "")


def _words(value: Any) -> str:
    """Return `THREAT_BLOCKED`, `media.play` and `IndexerRssCheck` as words."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", spell(value))
    return re.sub(r"[\W_]+", " ", parted).strip().capitalize()


def _extract(value: Any, pattern: Any) -> str:
    """Return the first group of the first match, or the whole match; empty if there is none."""
    try:
        found = compile_pattern(spell(pattern)).search(spell(value))
    except ValueError as error:
        raise ExpressionError(str(error)) from None
    return "" if found is None else (found[1] if found.re.groups else found[0]) or ""


def _take(value: Any, most: Any) -> list[Any]:
    return value[: max(0, _whole(most))] if isinstance(value, list) else []


def _where(value: Any, path: Any, wanted: Any) -> list[Any]:
    """Return the values of a list that have a value at a path."""
    if not isinstance(value, list):
        return []
    steps = spell(path).split(".")
    return [each for each in value if spell(_within(each, steps)) == spell(wanted)]


def _items(value: Any) -> list[Any]:
    """Return the members of an object, each with `key` and `value`."""
    members = list(value.items())[:_MAX_ITEMS] if isinstance(value, dict) else []
    return [{"key": key, "value": each} for key, each in members]


def _values(value: Any) -> list[Any]:
    return list(value.values())[:_MAX_ITEMS] if isinstance(value, dict) else value if isinstance(value, list) else []


def _join(value: Any, separator: Any) -> str:
    between, found = spell(separator), ""
    for each in _values(value)[:_MAX_ITEMS]:
        if each not in (None, ""):
            found += (between if found else "") + spell(each)
        if len(found) > MAX_OUTPUT:  # the text is refused
            break
    return found


def _get(value: Any, key: Any) -> Any:
    """Return a member whose name the dotted form cannot have."""
    return value.get(spell(key)) if isinstance(value, dict) else None


def _within(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list | dict | str) else 0


def _json(value: Any) -> str:
    if isinstance(value, list | dict):
        spell(value)  # refuses a large one
    return json.dumps(value, indent=2, ensure_ascii=False)


def _duration(value: Any) -> str:
    return duration_words(max(0.0, _number(value)))


def _bytes(value: Any) -> str:
    size = _number(value)
    for unit in _UNITS:
        if abs(size) < 1000 or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""


def _round(value: Any, digits: Any) -> float:
    return round(_number(value), min(10, max(0, _whole(digits))))


def _pad(value: Any, length: Any) -> str:
    """Return a number with zeros before it, as in S01E02."""
    return spell(value).zfill(min(20, max(0, _whole(length))))


def _choose(condition: Any, good: Any, other: Any) -> Any:
    return good if condition and condition != "false" else other


def _severity(value: Any) -> str:
    """Return the severity that a word of any product means; empty for an unknown one."""
    return str(severity_of(spell(value)) or "")


def _number(value: Any) -> float:
    try:
        return 0.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _whole(value: Any) -> int:
    number = _number(value)
    return int(number) if abs(number) < 1e9 else 0


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int | range]] = {
    "first": (_first, range(1, 11)),
    "choose": (_choose, 3),
    "cut": (_cut, 2),
    "left": (_left, 2),
    "first_line": (_first_line, 1),
    "upper": (lambda value: spell(value).upper(), 1),
    "lower": (lambda value: spell(value).lower(), 1),
    "words": (_words, 1),
    "extract": (_extract, 2),
    "take": (_take, 2),
    "where": (_where, 3),
    "items": (_items, 1),
    "values": (_values, 1),
    "join": (_join, 2),
    "get": (_get, 2),
    "count": (_count, 1),
    "json": (_json, 1),
    "duration": (_duration, 1),
    "bytes": (_bytes, 1),
    "round": (_round, 2),
    "pad": (_pad, 2),
    "severity": (_severity, 1),
}
VOCABULARY = Vocabulary({name: arguments for name, (_, arguments) in FUNCTIONS.items()}, NAMES)


def call(function: str, arguments: list[Any]) -> Any:
    """Return the result of a function."""
    return FUNCTIONS[function][0](*arguments)
