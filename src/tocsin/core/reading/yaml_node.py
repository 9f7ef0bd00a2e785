"""The values of a YAML file with their positions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import MISSING, WRONG_VALUE, InputValue, describe_missing, shorten

MAX_PROBLEMS = 50  # a file with more errors is probably of another kind
SHOWN_PROBLEMS = 10
SYNTAX, TOO_LARGE = "syntax", "too-large"

# YAML 1.2, section 10.3.2 (core schema). Every other unquoted value is text.
_NOTHING = re.compile(r"|~|null|Null|NULL")
_SWITCH = re.compile(r"true|True|TRUE|false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(
    rf"{_WHOLE.pattern}|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


class SourcePosition(NamedTuple):
    """A position in a file; line and column are counted from 1."""

    line: int
    column: int


TOP = SourcePosition(1, 1)


@dataclass(frozen=True, slots=True)
class YamlIssue:
    """An error: `key` is the path to the value, as in `ops[0].target`; empty for the root."""

    line: int
    column: int
    key: str
    detail: str
    code: str = field(default="", compare=False)  # such as `unknown-key`; may be empty
    near: str = field(default="", compare=False)  # the suggested word
    steps: tuple[str | int, ...] = field(default=(), compare=False)  # the path from the root to the value or the key

    def __str__(self) -> str:
        """Return the error as it is printed after the file's name."""
        return f"{self.line}:{self.column}: {self.key}{': ' if self.key else ''}{self.detail}"

    @property
    def wrong_key(self) -> str:
        """The path to the error; for an unknown, missing or repeated key, it ends with that key."""
        return _way(self.steps) or self.key

    def as_dict(self) -> dict[str, object]:
        """Return the error for JSON reports."""
        return {"line": self.line, "column": self.column, "key": self.wrong_key, "detail": self.detail}


def _way(steps: Iterable[str | int]) -> str:
    shown = (f"[{step}]" if isinstance(step, int) else f".{shorten(step)}" for step in steps)
    return "".join(shown).removeprefix(".")


class YamlError(ConfigError):
    """A YAML file is invalid; `problems` has every error."""

    def __init__(self, path: Path, problems: Iterable[YamlIssue]) -> None:
        self.path = path
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        shown = "; ".join(str(problem) for problem in self.problems[:SHOWN_PROBLEMS])
        more = len(self.problems) - SHOWN_PROBLEMS
        super().__init__(f"{path}:{shown}{f'; and {more} more' if more > 0 else ''}", hint="correct the file")


class Scalar(NamedTuple):
    """A value as it is spelled; a `quoted` value is always text."""

    spelling: str
    quoted: bool


class Document:
    """A file that is being validated."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.problems: list[YamlIssue] = []

    def refuse(self, problem: YamlIssue) -> None:
        """Record an error; raise YamlError if there are too many."""
        self.problems.append(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            self.check()

    def stop(self, place: SourcePosition, key: str, detail: str, code: str = SYNTAX) -> NoReturn:
        """Record an error that makes the rest unreadable, and raise YamlError."""
        problem = YamlIssue(place.line, place.column, key, detail, code)
        raise YamlError(self.path, [*self.problems, problem])

    def check(self) -> None:
        """Raise YamlError if an error was recorded."""
        if self.problems:
            raise YamlError(self.path, self.problems)

    def rest_of_line(self, place: SourcePosition) -> str:
        """Return the text from a position to the end of its line."""
        lines = self.text.splitlines()
        return lines[place.line - 1][place.column - 1 :] if place.line <= len(lines) else ""


Content: TypeAlias = "Scalar | list[Node] | dict[str, Node] | None"  # None: absent


class Node(InputValue):
    """A value of the file and its position."""

    __slots__ = ("_document", "content", "key_place", "place")

    def __init__(
        self,
        document: Document,
        content: Content,
        place: SourcePosition,
        *,
        parent: "Node | None" = None,
        step: str | int = "",
        key_place: SourcePosition | None = None,
    ) -> None:
        self._document = document
        self.content = content
        self.parent: Node | None = parent
        self.step = step
        self.place = place
        self.key_place = key_place or place

    @property
    def absent(self) -> bool:
        """Whether the file lacks it."""
        return self.content is None

    @property
    def key(self) -> str:
        """The path from the root to this value, as in `ops[0].target`."""
        return _way(self.steps)

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The keys and indexes from the root to this value."""
        return () if self.parent is None else (*self.parent.steps, self.step)

    def problem(self, detail: str, code: str = "", near: str = "") -> YamlIssue:
        """Return an error about this value that does not make the whole file unusable."""
        return YamlIssue(self.place.line, self.place.column, self.key, detail, code, near, self.steps)

    def key_problem(self, detail: str, code: str = "", near: str = "") -> YamlIssue:
        """Return an error about the key of this value that does not make the whole file unusable."""
        key = self.parent.key if self.parent else ""
        return YamlIssue(self.key_place.line, self.key_place.column, key, detail, code, near, self.steps)

    def refuse(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about this value."""
        self._document.refuse(self.problem(detail, code, near))

    def stop(self, detail: str, code: str) -> None:
        """Record an error about this value, and raise YamlError: the rest must not be read."""
        self.refuse(detail, code)
        self._document.check()

    def refuse_key(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about the key of this value."""
        self._document.refuse(self.key_problem(detail, code, near))

    def refuse_missing(self, *others: str) -> None:
        if self.parent is not None:
            place, key = self.parent.place, self.parent.key
            detail = describe_missing(str(self.step), *others)
            self._document.refuse(YamlIssue(place.line, place.column, key, detail, MISSING, steps=self.steps))

    @property
    def is_null(self) -> bool:
        """Whether it is `null`, `~` or empty."""
        return isinstance(self.content, Scalar) and describe_kind(self.content) == "nothing"

    def as_text(self) -> str | None:
        """Return a text, else `None`; a number counts as text, as it is spelled."""
        match self.content:
            case Scalar() as scalar if describe_kind(scalar) in {"text", "a number"}:
                return scalar.spelling
        return None

    def as_whole(self) -> int | None:
        spelling = self._number(_WHOLE)[:100]  # Python rejects thousands of digits
        if not spelling:
            return None
        return int(spelling, 0) if spelling[:2] in {"0o", "0x"} else int(spelling)

    def as_number(self) -> float | None:
        if (whole := self.as_whole()) is not None:
            return float(whole)
        spelling = self._number(_NUMBER)
        if not spelling or spelling[-1].isalpha():  # .inf and .nan
            return None
        number = float(spelling)
        return number if isfinite(number) else None

    def _number(self, shape: re.Pattern[str]) -> str:
        match self.content:
            case Scalar(spelling, quoted=False) if shape.fullmatch(spelling):
                return spelling
        return ""

    def as_boolean(self) -> bool | None:
        if isinstance(self.content, Scalar) and describe_kind(self.content) == "a switch":
            return self.content.spelling.lower() == "true"
        return None

    def as_items(self) -> "list[Node] | None":
        return self.content if isinstance(self.content, list) else None

    def as_members(self) -> "Iterable[tuple[str, Node]] | None":
        """Return keys and values of a mapping, else `None`; repeated keys were rejected before."""
        return self.content.items() if isinstance(self.content, dict) else None

    def quote(self, text: str) -> str:
        """Return a text of the file for an error message."""
        return repr(shorten(text))

    def nothing(self, step: str) -> "Node":
        return Node(self._document, None, self.place, parent=self, step=step)

    def found(self) -> str:
        if not isinstance(self.content, Scalar):
            return "a list" if isinstance(self.content, list) else "a mapping"
        kind = describe_kind(self.content)
        if kind == "a switch":
            return f"{self.content.spelling} (in quotes it would be text)"
        if kind == "nothing" and " #" in self._document.rest_of_line(self.place):
            return "no value (put a value that starts with # in quotes)"
        return kind


def describe_kind(scalar: Scalar) -> str:
    if scalar.quoted:
        return "text"
    for pattern, kind in ((_NOTHING, "nothing"), (_SWITCH, "a switch"), (_NUMBER, "a number")):
        if pattern.fullmatch(scalar.spelling):
            return kind
    return "text"
