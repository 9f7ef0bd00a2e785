"""An untrusted value of any format, and the questions that a reader asks about it.

The rules for YAML files, JSON bodies and bus entries are the same: a format reports the type and the position of a
value. Reading does not raise: an invalid value is reported and replaced by a fallback, so that one pass finds all
errors.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import ClassVar, TypeVar

SHOWN_LENGTH = 60
MAX_COMPARED = 40_000  # pairs of characters, which difflib compares in about 3 ms

UNKNOWN, MISSING, DUPLICATE = "unknown-key", "missing-key", "duplicate-key"
WRONG_TYPE, WRONG_VALUE, WRONG_DURATION = "wrong-type", "wrong-value", "bad-duration"

V = TypeVar("V", bound="InputValue")


class InputValue(ABC):
    """A value, its path, and the checks of its type."""

    __slots__ = ("parent", "step")

    a_list: ClassVar[str] = "a list"
    a_mapping: ClassVar[str] = "a mapping"

    parent: "InputValue | None"
    step: str | int  # its key or index in the parent

    @property
    @abstractmethod
    def absent(self) -> bool:
        """Whether the input lacks it."""

    @property
    @abstractmethod
    def is_null(self) -> bool:
        """Whether it is present and `null`."""

    @abstractmethod
    def as_text(self) -> str | None:
        """Return a text, else `None`."""

    @abstractmethod
    def as_whole(self) -> int | None:
        """Return an integer, else `None`."""

    @abstractmethod
    def as_number(self) -> float | None:
        """Return a finite number, else `None`."""

    @abstractmethod
    def as_boolean(self) -> bool | None:
        """Return a boolean, else `None`."""

    @abstractmethod
    def as_items(self: V) -> Sequence[V] | None:
        """Return the values of a list, else `None`."""

    @abstractmethod
    def as_members(self: V) -> Iterable[tuple[str, V]] | None:
        """Return keys and values of a mapping, repeated keys included, else `None`."""

    @abstractmethod
    def nothing(self: V, step: str) -> V:
        """Return an absent member with that name."""

    @abstractmethod
    def found(self) -> str:
        """Describe the value for an error message."""

    @abstractmethod
    def quote(self, text: str) -> str:
        """Return its text as an error may show it."""

    @abstractmethod
    def refuse(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about this value; `near` is the suggested word."""

    @abstractmethod
    def refuse_key(self, detail: str, code: str = WRONG_VALUE, near: str = "") -> None:
        """Record an error about the key of this value; `near` is the suggested key."""

    @abstractmethod
    def refuse_missing(self, *others: str) -> None:
        """Record that this absent value is required, or a value of one of the keys `others` instead."""

    def near(self, word: str, known: Iterable[str]) -> str:
        """Return the known word that is similar to `word`, if any."""
        return near_word(word, known)

    def expect(self, wanted: str) -> None:
        """Record that the type is wrong; an absent value is not reported again."""
        if not self.absent:
            self.refuse(f"expected {wanted}, found {self.found()}", WRONG_TYPE)

    def text(self, default: str = "", *, blank: bool = False) -> str:
        """Return a text, which must not be blank unless `blank` is true."""
        text = self.as_text()
        if text is None:
            self.expect("text")
            return default
        if not blank and not text.strip():
            self.refuse("expected text, found only whitespace")
        return text

    def integer(self, default: int, lowest: int, highest: float) -> int:
        """Return an integer between two bounds, both included."""
        number = self.as_whole()
        if number is None:
            self.expect("a whole number")
            return default
        if lowest <= number <= highest:
            return number
        self.refuse(f"expected a whole number from {lowest} to {highest}, found {shorten(str(number))}")
        return default

    def boolean(self, default: bool) -> bool:
        """Return a boolean."""
        value = self.as_boolean()
        if value is None:
            self.expect("true or false")
            return default
        return value

    def choice(self, default: str, accepted: Iterable[str]) -> str:
        """Return one of the `accepted` words."""
        words = tuple(accepted)
        word = self.text(default)
        if not self.absent and word and word not in words:
            near = self.near(word, words)
            self.refuse(f"{self.quote(word)} is not one of: {', '.join(words)}{did_you_mean(near)}", near=near)
        return word if word in words else default

    def items(self: V, *, allow_empty: bool = True) -> list[V]:
        """Return the values of a list."""
        items = self.as_items()
        if items is None:
            self.expect(self.a_list)
            return []
        if not items and not allow_empty:
            self.refuse("this list must not be empty")
        return list(items)

    def mapping(self: V) -> dict[str, V]:
        """Return the values of a mapping, the first of a repeated key."""
        members = self.as_members()
        if members is None:
            self.expect(self.a_mapping)
            return {}
        return _first_of_each(members)

    def fields(self: V, required: Iterable[str] = (), optional: Iterable[str] = ()) -> dict[str, V]:
        """Return the values of a mapping with fixed keys: exactly these, absent ones included."""
        needed = tuple(required)
        known = (*needed, *optional)
        members = self.as_members()
        if members is None:
            self.expect(self.a_mapping)
            return {name: self.nothing(name) for name in known}
        present = _first_of_each(members)
        free = [name for name in known if name not in present]
        for name, value in present.items():
            if name not in known:
                near = self.near(name, free)
                value.refuse_key(f"unknown key {shorten(name)!r}{did_you_mean(near)}", UNKNOWN, near)
        values = {name: present.get(name) or self.nothing(name) for name in known}
        for name in needed:
            if values[name].absent:
                values[name].refuse_missing()
        return values


def describe_missing(*keys: str) -> str:
    """Return the error of a mapping that has none of the keys."""
    if len(keys) == 1:
        return f"key {keys[0]!r} is missing"
    return f"one of the keys {', '.join(map(repr, keys[:-1]))} or {keys[-1]!r} is missing"


def _first_of_each(members: Iterable[tuple[str, V]]) -> dict[str, V]:
    """Return the values by key; report each repeated key."""
    values: dict[str, V] = {}
    for name, value in members:
        if name in values:
            value.refuse_key(f"duplicate key {shorten(name)!r}", DUPLICATE)
        else:
            values[name] = value
    return values


def near_word(word: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return the known word that is similar to `word`, if any; `similarity` is the lowest ratio of difflib that counts.

    Of many known words, only the first with the same initial are compared, which bounds the cost.
    """
    # difflib costs 3 ms to import and is needed only for errors.
    from difflib import get_close_matches

    word = word[:SHOWN_LENGTH]
    comparable = _comparable(word, known)
    same_letters = [each for each in comparable if each.casefold() == word.casefold()]
    near = same_letters or get_close_matches(word, comparable, 1, similarity)
    return str(near[0]) if near else ""  # a plain text of a member of an enumeration, whose `repr` is not a word


def _comparable(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words to compare with `word`, at most MAX_COMPARED pairs of characters."""
    size = len(word)
    # The similarity of all others is below 0.6, difflib's limit, because of their length alone.
    found = [each for each in known if 3 * size <= 7 * len(each) and 3 * len(each) <= 7 * size]
    if size * sum(map(len, found)) <= MAX_COMPARED:
        return found
    found = [each for each in found if each[:1].casefold() == word[:1].casefold()]
    return [
        each for each, chars in zip(found, accumulate(map(len, found)), strict=True) if size * chars <= MAX_COMPARED
    ]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean …?)` if a known word is similar to `word`, else an empty text."""
    return did_you_mean(near_word(word, known))


def did_you_mean(near: str) -> str:
    """Return the end of an error about a word for which `near` is suggested."""
    return f" (did you mean {near!r}?)" if near else ""


def shorten(text: str) -> str:
    """Return `text` short enough for an error."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 1]}…"
