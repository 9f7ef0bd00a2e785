"""The values of a YAML file with their places, and the questions that a reader asks them.

A reader walks the nodes and asks each for what it should be. Nothing raises on the way: a wrong
node gives a default and is recorded, so that one look shows all the mistakes of a file.

    def read_rule(node: Node) -> Rule:
        field = node.fields(required=("pattern",), optional=("reply",))
        return Rule(field["pattern"].text(), field["reply"].boolean(True))

    rules = load_yaml(path, lambda root: [read_rule(node) for node in root.items()])
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from tocsin.core.errors import ConfigError

MAX_PROBLEMS = 50  # a file with more is something else altogether
SHOWN_PROBLEMS = 10
SHOWN_LENGTH = 60

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

    def __str__(self) -> str:
        """Return all of it, as it stands after the file's name."""
        return f"{self.line}:{self.column}: {self.key}{': ' if self.key else ''}{self.detail}"


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

    def refuse(self, place: SourcePosition, key: str, detail: str) -> None:
        """Record a mistake; raise YamlError when it is one too many."""
        self.problems.append(YamlIssue(place.line, place.column, key, detail))
        if len(self.problems) >= MAX_PROBLEMS:
            self.check()

    def stop(self, place: SourcePosition, key: str, detail: str) -> NoReturn:
        """Record a mistake that makes the rest unreadable, and raise YamlError."""
        problem = YamlIssue(place.line, place.column, key, detail)
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


class Node:
    """A value of the file, its place, and the questions that a reader asks it."""

    __slots__ = ("_document", "content", "key_place", "parent", "place", "step")

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
        self.parent = parent
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
        steps: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            steps.append(f"[{node.step}]" if isinstance(node.step, int) else f".{shorten(node.step)}")
            node = node.parent
        return "".join(reversed(steps)).removeprefix(".")

    def problem(self, detail: str) -> YamlIssue:
        """Describe a mistake of this value that does not make the whole file unusable."""
        return YamlIssue(self.place.line, self.place.column, self.key, detail)

    def key_problem(self, detail: str) -> YamlIssue:
        """Describe a mistake of the key in front of this value that does not make the whole file unusable."""
        return YamlIssue(self.key_place.line, self.key_place.column, self.parent.key if self.parent else "", detail)

    def refuse(self, detail: str) -> None:
        """Record a mistake of this value."""
        self._document.refuse(self.place, self.key, detail)

    def refuse_key(self, detail: str) -> None:
        """Record a mistake of the key in front of this value."""
        self._document.refuse(self.key_place, self.parent.key if self.parent else "", detail)

    def text(self, default: str = "") -> str:
        """Return a text that is not blank; a number counts as text, in its own spelling."""
        content = self.content
        if not isinstance(content, Scalar) or kind_of(content) not in {"text", "a number"}:
            self._expect("text")
            return default
        if not content.spelling.strip():
            self.refuse("expected text, found only blanks")
        return content.spelling

    def integer(self, default: int, lowest: int, highest: int) -> int:
        """Return a whole number between two bounds, both included."""
        content = self.content
        if isinstance(content, Scalar) and not content.quoted and _WHOLE.fullmatch(content.spelling):
            spelling = content.spelling[:30]  # Python refuses thousands of digits
            number = int(spelling, 0) if spelling[:2] in {"0o", "0x"} else int(spelling)
            if lowest <= number <= highest:
                return number
            found = shorten(content.spelling)
            self.refuse(f"expected a whole number from {lowest} to {highest}, found {found}")
            return default
        self._expect("a whole number")
        return default

    def boolean(self, default: bool) -> bool:
        """Return a switch."""
        content = self.content
        if isinstance(content, Scalar) and kind_of(content) == "a switch":
            return content.spelling.lower() == "true"
        self._expect("true or false")
        return default

    def choice(self, default: str, accepted: Iterable[str]) -> str:
        """Return one word out of `accepted`."""
        words = tuple(accepted)
        word = self.text(default)
        if not self.absent and word and word not in words:
            self.refuse(f"{shorten(word)!r} is none of: {', '.join(words)}{suggestion(word, words)}")
        return word if word in words else default

    def items(self, *, allow_empty: bool = True) -> "list[Node]":
        """Return the values of a list."""
        if isinstance(self.content, list):
            if not self.content and not allow_empty:
                self.refuse("this list needs an entry")
            return list(self.content)
        self._expect("a list")
        return []

    def mapping(self) -> "dict[str, Node]":
        """Return the values of a mapping whose keys are names that the operator chose."""
        if isinstance(self.content, dict):
            return dict(self.content)
        self._expect("a mapping")
        return {}

    def fields(self, required: Iterable[str] = (), optional: Iterable[str] = ()) -> "dict[str, Node]":
        """Return the values of a mapping whose keys are ours: exactly these, absent ones included."""
        present = self.mapping()
        needed = tuple(required)
        known = (*needed, *optional)
        for name, node in present.items():
            if name not in known:
                near = suggestion(name, [free for free in known if free not in present])
                node.refuse_key(f"unknown key {shorten(name)!r}{near}")
        if isinstance(self.content, dict):
            for name in needed:
                if name not in present:
                    self.refuse(f"key {name!r} is missing")
        return {name: present.get(name) or self._nothing(name) for name in known}

    def _nothing(self, step: str) -> "Node":
        return Node(self._document, None, self.place, parent=self, step=step)

    def _expect(self, wanted: str) -> None:
        """Record that something else is here; what is not here at all is no mistake of this node."""
        if self.content is not None:
            self.refuse(f"expected {wanted}, found {self._found()}")

    def _found(self) -> str:
        if not isinstance(self.content, Scalar):
            return "a list" if isinstance(self.content, list) else "a mapping"
        kind = kind_of(self.content)
        if kind == "a switch":
            return f"{self.content.spelling} (in quotes it would be text)"
        if kind == "nothing" and " #" in self._document.rest_of_line(self.place):
            return "nothing (a value that starts with # needs quotes)"
        return kind


def kind_of(scalar: Scalar) -> str:
    """Return what a scalar is, in the words of our errors."""
    if scalar.quoted:
        return "text"
    for pattern, kind in ((_NOTHING, "nothing"), (_SWITCH, "a switch"), (_NUMBER, "a number")):
        if pattern.fullmatch(scalar.spelling):
            return kind
    return "text"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean …?)` when a known word is close to `word`, else nothing."""
    # difflib costs 3 ms to import and is needed only where there is a mistake.
    from difflib import get_close_matches

    # Its cost grows with the square of the length.
    near = get_close_matches(word[:SHOWN_LENGTH], list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def shorten(text: str) -> str:
    """Return `text` short enough for an error."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 1]}…"
