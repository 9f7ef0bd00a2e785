"""The functions of rules. Each takes JSON values and returns one, and none raises for a value of another type."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from tocsin.core.expressions.expression import check_size, spell
from tocsin.core.expressions.parser import Vocabulary
from tocsin.core.expressions.text import MAX_OUTPUT, TextScope
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


def _extract(value: Any, pattern: Any, scope: TextScope) -> str:
    """Return the first group of the first match, or the whole match; empty if there is none."""
    found = scope.search(spell(pattern), spell(value))
    return "" if found is None else (found[1] if found.re.groups else found[0]) or ""


def _take(value: Any, most: Any) -> list[Any]:
    return value[: max(0, _whole(most))] if isinstance(value, list) else []


def _where(value: Any, path: Any, wanted: Any) -> list[Any]:
    """Return the values of a list that have a text, number, true, false or null at a path."""
    if not isinstance(value, list):
        return []
    steps, text = spell(path).split("."), spell(wanted)
    found = ((each, _within(each, steps)) for each in value)
    return [each for each, inner in found if not isinstance(inner, list | dict) and spell(inner) == text]


def _items(value: Any) -> list[Any]:
    """Return the members of an object, each with `key` and `value`."""
    members = islice(value.items(), _MAX_ITEMS) if isinstance(value, dict) else ()
    return [{"key": key, "value": each} for key, each in members]


def _values(value: Any) -> list[Any]:
    return (
        list(islice(value.values(), _MAX_ITEMS))
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )


def _join(value: Any, separator: Any) -> str:
    between, found, values = spell(separator), "", _values(value)[:_MAX_ITEMS]
    for each in values:
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
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list | dict | str) else 0


def _json(value: Any) -> str:
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


# Characters per step of the slowest text of each function; for the others, it is `_USUAL`.
_USUAL, _CHARACTERS = 32, {"words": 8}
# These look at no more of a value than they return.
_CHEAP = frozenset({"first", "choose", "left", "take", "get", "count", "values"})


def call(function: str, arguments: list[Any], scope: TextScope) -> Any:
    """Return the result of a function, once it is paid."""
    scope.spend(_price(function, arguments))
    if function == "extract":
        return _extract(arguments[0], arguments[1], scope)
    return FUNCTIONS[function][0](*arguments)


def _price(function: str, arguments: list[Any]) -> int:
    """Return the steps of a call, by the sizes of its arguments; raises ExpressionError if they are too large."""
    match function, arguments:
        case "join", [list() | dict() as value, _]:
            inner = [each for each in _values(value)[:_MAX_ITEMS] if isinstance(each, list | dict)]
            return 2 + min(len(value), _MAX_ITEMS) + check_size(inner)
        case (("take" | "items" | "values"), [list() | dict() as value, *_]):
            return 2 + min(len(value), _MAX_ITEMS)
        case "where", [list() as value, path, wanted]:
            return 2 + len(value) * (1 + spell(path).count(".") + len(spell(wanted)) // 1_024)
        case "cut", [str() as text, most] if len(text) > _whole(most):
            return 2 + max(0, _whole(most)) // 2  # looks for where characters end
        case _ if function in _CHEAP:
            return 3
    return 3 + sum(_size(each) // _CHARACTERS.get(function, _USUAL) for each in arguments)


def _size(value: Any) -> int:
    """Return the characters of a text, or as many for the values of a list or object."""
    if isinstance(value, str):
        return len(value)
    return _USUAL * check_size(value) if isinstance(value, list | dict) else 0
