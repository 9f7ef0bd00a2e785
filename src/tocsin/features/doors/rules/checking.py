"""Warnings about valid rules: those that no request reaches, or that no recent request matches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.core.expressions.expression import Expression
from tocsin.core.reading.value import did_you_mean, near_word, suggestion
from tocsin.features.doors.receiving.bodies import parse_json
from tocsin.features.doors.rules.file import PlacedRule

MAX_PATHS = 5_000


class RuleWarning(NamedTuple):
    """A warning about a rule."""

    door: str
    place: str
    detail: str


def check_rules(
    rules: Mapping[str, Sequence[PlacedRule]], doors: Collection[str], payloads: Mapping[str, Sequence[str]]
) -> list[RuleWarning]:
    """Return warnings about the rules of doors, given the newest payloads of each door as they are kept."""
    found: list[RuleWarning] = []
    for door, placed in rules.items():
        if door not in doors:
            found.append(RuleWarning(door, "doors.yaml", f"no door is named {door!r}{suggestion(door, doors)}"))
            continue
        documents = [document for text in payloads.get(door, ()) if (document := _document(text)) is not None]
        found += _of_door(door, placed, documents)
    return found


def _of_door(door: str, placed: Sequence[PlacedRule], documents: Sequence[Any]) -> Iterator[RuleWarning]:
    known = {path for document in documents for path in _paths(document)}
    last = ""  # the rule after which none is tried
    for rule, place in placed:
        if last:
            yield RuleWarning(door, place, f"it is never tried: {last} takes every request")
        elif rule.match is None or (rule.match.is_constant() and rule.match.is_true()):
            last = place
        elif rule.match.is_constant():
            yield RuleWarning(door, place, "it never matches: its condition is never true")
        elif known and (detail := _unknown_path(rule.match, known)):
            yield RuleWarning(door, place, detail)


def _unknown_path(condition: Expression, known: Collection[str]) -> str:
    """Return which path of a condition no recent payload has, with the nearest that one has."""
    for path in condition.names():
        if path.startswith("payload.") and path not in known:
            near = did_you_mean(near_word(path, known))
            return f"{path} is in none of the newest requests{near}"
    return ""


def _document(text: str) -> Any:
    try:
        found = parse_json(text)
    except ValueError:  # not JSON, or cut
        return None
    return found if isinstance(found, dict | list) else None


def _paths(document: Any) -> Iterator[str]:
    waiting = [("payload", document)]
    for _ in range(MAX_PATHS):
        if not waiting:
            return
        path, value = waiting.pop()
        yield path
        members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting += [(f"{path}.{key}", inner) for key, inner in members]
