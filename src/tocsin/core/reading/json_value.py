"""The values of a JSON document, or of named texts, with JSON pointers to them.

Documents are untrusted: errors never repeat a text, and only the first errors are described.
"""

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn, TypeAlias

from tocsin.core.reading.fields import MAX_WHOLE, RecordType, RecordValues
from tocsin.core.reading.value import MISSING, WRONG_VALUE, InputValue, describe_missing, near_word

MAX_ISSUES = 10  # described at most: suggestions cost time, and a document may have 100,000 keys
MAX_KEY = 100

Members: TypeAlias = "tuple[tuple[str, Any], ...]"  # of an object, repeated names included


@dataclass(frozen=True, slots=True)
class JsonIssue:
    """An error: `steps` is the path from the root to the value, `near` the suggested key.

    A value is missing only if those of the keys `others` are, too.
    """

    steps: tuple[str | int, ...]
    code: str
    detail: str
    near: str = ""
    others: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The last step, shortened."""
        return str(self.steps[-1])[:MAX_KEY] if self.steps else ""

    @property
    def pointer(self) -> str:
        """The JSON pointer to the value, as a URL fragment."""
        from urllib.parse import quote

        # RFC 6901, sections 3 and 6: escaped as a pointer, then as the fragment of a URL.
        steps = (str(step)[:MAX_KEY].replace("~", "~0").replace("/", "~1") for step in self.steps)
        return "#" + "".join(f"/{quote(step, safe='', errors='surrogatepass')}" for step in steps)

    def __str__(self) -> str:
        """Return the path and the error; the path of an error that names its key ends before that key."""
        steps = self.steps if self.code in _OF_VALUES else self.steps[:-1]
        way = ".".join(str(step)[:MAX_KEY] for step in steps)
        return f"{way}: {self.detail}" if way else self.detail


_OF_VALUES = {"wrong-type", "wrong-value"}  # other details name the key


class JsonIssues:
    """The errors of one document."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[JsonIssue] = []

    @property
    def full(self) -> bool:
        """Whether further errors are only counted."""
        return self.count >= MAX_ISSUES

    def add(self, issue: JsonIssue) -> None:
        """Count an error, and store it if it is one of the first."""
        if not self.full:
            self.shown.append(issue)
        self.count += 1


class JsonValue(InputValue):
    """A value of the document and its path."""

    __slots__ = ("_absent", "_content", "_issues")

    a_list, a_mapping = "an array", "an object"

    def __init__(
        self,
        content: Any,
        issues: JsonIssues,
        *,
        parent: "JsonValue | None" = None,
        step: str | int = "",
        absent: bool = False,
    ) -> None:
        self._content = content
        self._issues = issues
        self._absent = absent
        self.parent: JsonValue | None = parent
        self.step = step

    @property
    def absent(self) -> bool:
        """Whether the document lacks it."""
        return self._absent

    @property
    def is_null(self) -> bool:
        """Whether it is `null`."""
        return self._content is None and not self._absent

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The keys and indexes from the root to this value."""
        return (*self.parent.steps, self.step) if self.parent is not None else ()

    def as_text(self) -> str | None:
        return self._content if isinstance(self._content, str) else None

    def as_whole(self) -> int | None:
        content = plain_number(self._content)
        return content if isinstance(content, int) and not isinstance(content, bool) else None

    def as_number(self) -> float | None:
        if isinstance(self._content, bool) or not isinstance(self._content, int | float):
            return None
        try:
            number = float(self._content)
        except OverflowError:
            return None
        return number if isfinite(number) else None

    def as_boolean(self) -> bool | None:
        return self._content if isinstance(self._content, bool) else None

    def as_items(self) -> "list[JsonValue] | None":
        """Return the values of an array, else `None`."""
        if not isinstance(self._content, list):
            return None
        return [self._member(index, item) for index, item in enumerate(self._content)]

    def as_members(self) -> "list[tuple[str, JsonValue]] | None":
        """Return names and values of an object, repeated names included, else `None`."""
        if not isinstance(self._content, tuple):
            return None
        return [(name, self._member(name, item)) for name, item in self._content]

    def nothing(self, step: str) -> "JsonValue":
        return JsonValue(None, self._issues, parent=self, step=step, absent=True)

    def _member(self, step: str | int, content: Any) -> "JsonValue":
        return JsonValue(content, self._issues, parent=self, step=step)

    def found(self) -> str:
        match self._content:
            case None | True | False:
                return _encode(self._content)
            case str():
                return "text"
            case int() | float():
                return "a number"
        return self.a_list if isinstance(self._content, list) else self.a_mapping

    def quote(self, text: str) -> str:  # a caller's value is not repeated
        return "this text"

    def near(self, word: str, known: Any) -> str:
        """Return the known word that is similar to `word`, while errors are still described."""
        return "" if self._issues.full else near_word(word, known)

    def refuse(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about this value."""
        self._issues.add(JsonIssue(self.steps, code, detail, near))

    def refuse_key(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about the name of this value."""
        self._issues.add(JsonIssue(self.steps, code, detail, near))

    def refuse_missing(self, *others: str) -> None:
        detail = describe_missing(str(self.step), *others)
        self._issues.add(JsonIssue(self.steps, MISSING, detail, others=others))


def read_json(record: RecordType, members: Members) -> tuple[RecordValues[JsonValue], JsonIssues]:
    """Read the members of an object as a record; return its values and the errors."""
    issues = JsonIssues()
    return record.read(JsonValue(tuple(members), issues)), issues


def to_members(value: Any) -> Any:
    """Return plain values in the form of `decode_json`: mappings as tuples of their members."""
    if isinstance(value, Mapping):
        return tuple((str(name), to_members(each)) for name, each in value.items())
    return [to_members(each) for each in value] if isinstance(value, list | tuple) else value


def read_texts(record: RecordType, members: Members) -> dict[str, Any] | None:
    """Return the values of a valid record of texts only, or `None` if `read_json` must decide.

    It costs a fraction of `read_json`, for the hot path of `POST /send` and of the bus.
    """
    quick = record.quick
    values: dict[str, Any] = {}
    try:
        for name, text in members:
            parse = quick[name]
            if type(text) is not str:
                return None
            values[name] = parse(text) if parse is not None else text
    except (KeyError, ValueError):
        return None
    return values if len(values) == len(members) and record.required <= values.keys() else None


def decode_json(raw: bytes) -> Any:
    """Parse a JSON document in UTF-8; raise ValueError or RecursionError for anything else.

    An object becomes a tuple of its members, so that repeated names can be detected; an array becomes a list.
    """
    # RFC 8259, section 8.1: UTF-8 only; a byte order mark may be ignored.
    return _decode(raw.removeprefix(BOM_UTF8).decode())


def plain_number(value: Any) -> Any:
    """Return an integer for a number such as 5.0, because JSON has only one type of number.

    Numbers beyond the range of common parsers, and all other values, are returned unchanged.
    """
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_WHOLE else value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not valid JSON")


# Created once: json.loads with arguments creates a decoder for every call.
_decode = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_no_number).decode
_encode = json.JSONEncoder().encode
