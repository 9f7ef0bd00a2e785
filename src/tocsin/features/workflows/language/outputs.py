"""The outputs of a step: `name: source | filter | filter`."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.patterns import compile_pattern
from tocsin.core.reading.value import did_you_mean, near_word

MAX_OUTPUT_BYTES = 64 * 1024
FILE = "file:"
SOURCES = ("stdout", "stderr", "exit_code")
FILTERS = ("trim", "first_line", "last_line", "json", "regex")
_PIECE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^|'"]+|[|'"]""", re.DOTALL)


class OutputRuleError(TocsinError):
    """The rule of an output cannot be read, or the output of a step does not match it."""

    code = "bad-value"

    def __init__(self, message: str, *, near: str = "") -> None:
        super().__init__(message)
        self.near = near


class OutputFilter(NamedTuple):
    """One filter and its argument."""

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class OutputRule:
    """The source of an output, and its filters."""

    source: str  # one of `SOURCES`, or `file:` and a path
    filters: tuple[OutputFilter, ...] = ()

    def of(self, text: str) -> Any:
        """Return the output that a text of the source gives; raises OutputRuleError."""
        value: Any = text
        for each in self.filters:
            value = _APPLY[each.name](value, each.argument)
        if len(_spelled(value).encode(errors="replace")) > MAX_OUTPUT_BYTES:
            raise OutputRuleError(f"it is larger than {MAX_OUTPUT_BYTES // 1024} KiB")
        return value


def parse_output(text: str, check: Callable[[str], object] = compile_pattern) -> OutputRule:
    """Read a rule; raises OutputRuleError. `check` raises ValueError for a pattern that cannot be used."""
    source, *filters = _parts(text)
    if source not in SOURCES and not (source.startswith(FILE) and source != FILE):
        near = near_word(source, (*SOURCES, FILE)) if source != FILE else ""
        listed = f"{', '.join(SOURCES)} or file:PATH"
        raise OutputRuleError(f"unknown source {source!r}: use {listed}{did_you_mean(near)}", near=near)
    return OutputRule(source, tuple(_filter(each, check) for each in filters))


def _parts(text: str) -> Iterable[str]:
    parts = [""]
    for piece in (found[0] for found in _PIECE.finditer(text)):
        if piece in {"'", '"'}:
            raise OutputRuleError("a quote is not closed")
        if piece == "|":
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def _filter(text: str, check: Callable[[str], object]) -> OutputFilter:
    name, colon, argument = text.partition(":")
    name = name.strip()
    if name not in FILTERS:
        near = near_word(name, FILTERS)
        raise OutputRuleError(
            f"unknown filter {name!r}; available: {', '.join(FILTERS)}{did_you_mean(near)}", near=near
        )
    argument = argument.strip()
    if argument[:1] in {"'", '"'} and argument[-1:] == argument[:1]:
        argument = argument[1:-1]
    if name == "regex":
        _check_regex(argument, check)
    elif name == "json" and argument and not argument.startswith("/"):
        raise OutputRuleError("expected a JSON pointer after 'json:'; it starts with '/'", near=f"json:/{argument}")
    elif name != "json" and colon:
        raise OutputRuleError(f"filter {name!r} takes no argument")
    return OutputFilter(name, argument)


def _check_regex(pattern: str, check: Callable[[str], object]) -> None:
    if not pattern:
        raise OutputRuleError("expected a pattern in quotes after 'regex:', for example regex:'size (\\d+)'")
    try:
        check(pattern)
    except ValueError as error:
        raise OutputRuleError(str(error)) from None


def json_of(text: str) -> Any:
    """Parse a JSON text; raises OutputRuleError, also for values that cannot be written as JSON again.

    Those are numbers such as `NaN`, and halves of a character.
    """
    try:
        document = json.loads(text)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise OutputRuleError("it is not JSON") from None
    return document


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _trim(value: Any, _: str) -> Any:
    return _spelled(value).strip()


def _first_line(value: Any, _: str) -> Any:
    return next((line.strip() for line in _spelled(value).splitlines() if line.strip()), "")


def _last_line(value: Any, _: str) -> Any:
    return next((line.strip() for line in reversed(_spelled(value).splitlines()) if line.strip()), "")


def _json(value: Any, pointer: str) -> Any:
    document = json_of(value) if isinstance(value, str) else value
    for step in pointer.split("/")[1:]:
        document = _member(document, step.replace("~1", "/").replace("~0", "~"), pointer)
    return document


def _member(document: Any, step: str, pointer: str) -> Any:
    if isinstance(document, dict) and step in document:
        return document[step]
    if isinstance(document, list) and step.isdecimal() and int(step) < len(document):
        return document[int(step)]
    raise OutputRuleError(f"it has no value at {pointer}")


def _regex(value: Any, pattern: str) -> Any:
    found = compile_pattern(pattern).search(_spelled(value))
    if found is None:
        raise OutputRuleError(f"{pattern!r} does not match it")
    return found[1] if found.re.groups else found[0]


_APPLY: Mapping[str, Callable[[Any, str], Any]] = {
    "trim": _trim,
    "first_line": _first_line,
    "last_line": _last_line,
    "json": _json,
    "regex": _regex,
}
