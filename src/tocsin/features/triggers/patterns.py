"""Patterns that a message is searched for: RE2, whose time grows with the text and never faster.

Syntax: https://github.com/google/re2/wiki/Syntax
"""

import re
from dataclasses import dataclass, field
from typing import Any

from tocsin.core.reading.value import shorten
from tocsin.core.text.strings import storable

MAX_LENGTH = 1_000  # characters
MAX_GROUPS = 99
# Steps of the compiled pattern: with these, 64 kB of the worst text take about half a second.
MAX_PROGRAM = 10_000
MAX_MEMORY_BYTES = 4 * 1024 * 1024  # of one pattern while it matches


class PatternError(ValueError):
    """A pattern cannot be used; the text says why, in plain words."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that is found in any letter case and anywhere in the text."""

    source: str
    _compiled: Any = field(repr=False, compare=False)

    @classmethod
    def compile(cls, source: str) -> "Pattern":
        """Read a pattern; raises PatternError."""
        if len(source) > MAX_LENGTH:
            raise PatternError(f"it has {len(source):,} characters, limit {MAX_LENGTH:,}")
        if found := _CONTROLS.search(source):
            raise PatternError(f"it contains the control character {found[0]!a}; {_ESCAPED}")
        # Takes 5 ms to import: commands that match nothing do not pay for it.
        import re2  # type: ignore[import-untyped]  # it has no types

        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False  # it would write to standard error
        options.max_mem = MAX_MEMORY_BYTES
        try:
            compiled = re2.compile(source, options)
        except re2.error as error:
            raise PatternError(_explain(_words_of(error))) from None
        if compiled.programsize > MAX_PROGRAM:
            raise PatternError(_TOO_LARGE)
        if compiled.groups > MAX_GROUPS:
            raise PatternError(f"it has {compiled.groups} groups, limit {MAX_GROUPS}")
        return cls(source, compiled)

    def find(self, text: bytes) -> tuple[str, ...] | None:
        """Search UTF-8 text; return the match and its groups, or `None`.

        A group that took no part is empty.
        """
        found = self._compiled.search(text)
        if found is None:
            return None
        # `\C` is one byte and may cut a character in two.
        return tuple((part or b"").decode("utf-8", "replace") for part in (found.group(), *found.groups()))


def searchable(text: str) -> bytes:
    """Return a message as patterns see it: without NUL, which no argument of a program can hold."""
    return storable(text.replace("\0", "")).encode()


# All but tab and line ends; `\x08` and the like, spelled out, are left to RE2.
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
_ESCAPED = "in double quotes, YAML converts \\b and similar escapes to control characters: use single quotes"
_TOO_LARGE = "it is too large after its repetitions are expanded; use smaller repeat counts"


def _words_of(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _explain(said: str) -> str:
    """Return RE2's error, or a clearer one for features of other engines."""
    kind, _, place = said.partition(": ")
    for pattern, words in _REASONS:
        if re.match(pattern, said):
            return words.format(place=shorten(place))
    return f"invalid RE2 pattern: {kind}{f' {shorten(place)!r}' if place else ''}"


_REASONS = (
    (r"invalid escape sequence: \\[1-9]", "back-references such as {place} are not supported"),
    (r"invalid escape sequence: \\Z", "the end of the text is \\z, not \\Z"),
    (r"invalid escape sequence", "{place} is not a valid escape; write \\\\ for a backslash"),
    (r"trailing \\", "it ends with a backslash; write \\\\ for a backslash"),
    (r"invalid perl operator: \(\?[=!]", "look-ahead, {place}…), is not supported"),
    (r"invalid perl operator: \(\?<[=!]", "look-behind, {place}…), is not supported"),
    (r"invalid perl operator: \(\?>", "atomic groups, {place}…), are not supported and not needed"),
    (r"invalid perl operator: \(\?P$", "back-references such as (?P=name) are not supported"),
    (r"invalid named capture group", "the group {place} has an invalid name"),
    (r"invalid perl operator", "{place} is not supported"),
    (
        r"bad repetition operator: .*\+$",
        ("{place} has two repetition operators; possessive repetition is not supported and not needed"),
    ),
    (r"bad repetition operator", "{place} has two repetition operators"),
    (r"no argument for repetition operator", "{place} has no expression to repeat; write \\{place} for the character"),
    (r"invalid repetition size", "{place} has a repeat count that is too large; the limit is 1,000 in total"),
    (r"pattern too large", _TOO_LARGE),
    (r"missing \)", "a ( is not closed; write \\( for the character"),
    (r"missing \]", "a [ is not closed; write \\[ for the character"),
    (r"unexpected \)", "a ) has no opening parenthesis; write \\) for the character"),
    (r"invalid character class range", "invalid class or range {place}"),
)
