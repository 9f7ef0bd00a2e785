"""The values of a YAML file with their places."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import MISSING, WRONG_VALUE, InputValue, shorten

MAX_PROBLEMS = 50  # a file with more is something else altogether
SHOWN_PROBLEMS = 10
SYNTAX, TOO_LARGE = "syntax", "too-large"

# YAML 1.2, section 10.3.2 (core schema). Everything else that has no quotes is text.
_NOTHING = re.compile(r"|~|null|Null|NULL")
_SWITCH = re.compile(r"true|True|TRUE|false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(
    rf"{_WHOLE.pattern}|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


class SourcePosition(NamedTuple):
    """Where something stands in a file, both counted from 1."""

    line: int
    column: int


TOP = SourcePosition(1, 1)


@dataclass(frozen=True, slots=True)
class YamlIssue:
    """One mistake: `key` is the way to the value, as in `ops[0].target`; empty at the top."""

    line: int
    column: int
    key: str
    detail: str
    code: str = field(default="", compare=False)  # such as `unknown-key`; empty where it says no more than the detail
    near: str = field(default="", compare=False)  # what was probably meant
    steps: tuple[str | int, ...] = field(default=(), compare=False)  # from the top to the value, or to the key

    def __str__(self) -> str:
        """Return all of it, as it stands after the file's name."""
        return f"{self.line}:{self.column}: {self.key}{': ' if self.key else ''}{self.detail}"

    @property
    def wrong_key(self) -> str:
        """The way to what is wrong: for a key that is unknown, missing or repeated, it ends with that key."""
        return _way(self.steps) or self.key

    def as_dict(self) -> dict[str, object]:
        """Return what lists of mistakes show of it."""
        return {"line": self.line, "column": self.column, "key": self.wrong_key, "detail": self.detail}


def _way(steps: Iterable[str | int]) -> str:
    shown = (f"[{step}]" if isinstance(step, int) else f".{shorten(step)}" for step in steps)
    return "".join(shown).removeprefix(".")


class YamlError(ConfigError):
    """A YAML file has mistakes; `problems` has each of them."""

    def __init__(self, path: Path, problems: Iterable[YamlIssue]) -> None:
        self.path = path
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        shown = "; ".join(str(problem) for problem in self.problems[:SHOWN_PROBLEMS])
        more = len(self.problems) - SHOWN_PROBLEMS
        super().__init__(f"{path}:{shown}{f'; and {more} more' if more > 0 else ''}", hint="correct the file")


class Scalar(NamedTuple):
    """A value as it is spelled; `quoted` ones are text whatever they look like."""

    spelling: str
    quoted: bool


class Document:
    """One file under examination."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.problems: list[YamlIssue] = []

    def refuse(self, problem: YamlIssue) -> None:
        """Record a mistake; raise YamlError when it is one too many."""
        self.problems.append(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            self.check()

    def stop(self, place: SourcePosition, key: str, detail: str, code: str = SYNTAX) -> NoReturn:
        """Record a mistake that makes the rest unreadable, and raise YamlError."""
        problem = YamlIssue(place.line, place.column, key, detail, code)
        raise YamlError(self.path, [*self.problems, problem])

    def check(self) -> None:
        """Raise YamlError when a mistake was recorded."""
        if self.problems:
            raise YamlError(self.path, self.problems)

    def rest_of_line(self, place: SourcePosition) -> str:
        """Return what stands at a place, up to the end of its line."""
        lines = self.text.splitlines()
        return lines[place.line - 1][place.column - 1 :] if place.line <= len(lines) else ""


Content: TypeAlias = "Scalar | list[Node] | dict[str, Node] | None"  # nothing: it is not in the file


class Node(InputValue):
    """A value of the file and its place."""

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
        """Whether the file does not have it."""
        return self.content is None

    @property
    def key(self) -> str:
        """The way from the top to this value, as in `ops[0].target`."""
        return _way(self.steps)

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The keys and indexes from the top to this value."""
        return () if self.parent is None else (*self.parent.steps, self.step)

    def problem(self, detail: str, code: str = "", near: str = "") -> YamlIssue:
        """Describe a mistake of this value that does not make the whole file unusable."""
        return YamlIssue(self.place.line, self.place.column, self.key, detail, code, near, self.steps)

    def key_problem(self, detail: str, code: str = "", near: str = "") -> YamlIssue:
        """Describe a mistake of the key in front of this value that does not make the whole file unusable."""
        key = self.parent.key if self.parent else ""
        return YamlIssue(self.key_place.line, self.key_place.column, key, detail, code, near, self.steps)

    def refuse(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record a mistake of this value."""
        self._document.refuse(self.problem(detail, code, near))

    def stop(self, detail: str, code: str) -> None:
        """Record a mistake of this value, and raise YamlError: nothing more is to be read."""
        self.refuse(detail, code)
        self._document.check()

    def refuse_key(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record a mistake of the key in front of this value."""
        self._document.refuse(self.key_problem(detail, code, near))

    def refuse_missing(self) -> None:
        """Record that this absent value is required."""
        if self.parent is not None:
            place, key = self.parent.place, self.parent.key
            detail = f"key {self.step!r} is missing"
            self._document.refuse(YamlIssue(place.line, place.column, key, detail, MISSING, steps=self.steps))

    @property
    def is_null(self) -> bool:
        """Whether it is `null`, `~` or empty."""
        return isinstance(self.content, Scalar) and describe_kind(self.content) == "nothing"

    def as_text(self) -> str | None:
        """Return a text; a number counts as text, in its own spelling."""
        match self.content:
            case Scalar() as scalar if describe_kind(scalar) in {"text", "a number"}:
                return scalar.spelling
        return None

    def as_whole(self) -> int | None:
        """Return the whole number that it is, else None."""
        spelling = self._number(_WHOLE)[:100]  # Python refuses thousands of digits
        if not spelling:
            return None
        return int(spelling, 0) if spelling[:2] in {"0o", "0x"} else int(spelling)

    def as_number(self) -> float | None:
        """Return the finite number that it is, else None."""
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
        """Return the truth value that it is, else None."""
        if isinstance(self.content, Scalar) and describe_kind(self.content) == "a switch":
            return self.content.spelling.lower() == "true"
        return None

    def as_items(self) -> "list[Node] | None":
        """Return the values of the list that it is, else None."""
        return self.content if isinstance(self.content, list) else None

    def as_members(self) -> "Iterable[tuple[str, Node]] | None":
        """Return keys and values of the mapping that it is, else None; repeated keys were refused before."""
        return self.content.items() if isinstance(self.content, dict) else None

    def quote(self, text: str) -> str:
        """Return a text of the file as an error shows it."""
        return repr(shorten(text))

    def nothing(self, step: str) -> "Node":
        """Return the member of that name, which is absent."""
        return Node(self._document, None, self.place, parent=self, step=step)

    def found(self) -> str:
        """Return what it is, in words for an error."""
        if not isinstance(self.content, Scalar):
            return "a list" if isinstance(self.content, list) else "a mapping"
        kind = describe_kind(self.content)
        if kind == "a switch":
            return f"{self.content.spelling} (in quotes it would be text)"
        if kind == "nothing" and " #" in self._document.rest_of_line(self.place):
            return "no value (put a value that starts with # in quotes)"
        return kind


def describe_kind(scalar: Scalar) -> str:
    """Return what a scalar is, in the words of our errors."""
    if scalar.quoted:
        return "text"
    for pattern, kind in ((_NOTHING, "nothing"), (_SWITCH, "a switch"), (_NUMBER, "a number")):
        if pattern.fullmatch(scalar.spelling):
            return kind
    return "text"
