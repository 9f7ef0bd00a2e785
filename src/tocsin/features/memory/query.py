"""Conversion of typed words into queries of the indexes; no typed word is an operator.

Words of languages without spaces, and emoji, are found by parts: with an index of three-character parts, and a scan
for shorter ones. All other words are found by their prefix.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from tocsin.core.text.strings import normalise

MAX_QUERY_CHARS = 1_000
MAX_TERMS = 32
PIECE = 3  # characters in the index of parts
SNIPPET_CHARS = 160
_BEFORE_MATCH = 40  # characters of a snippet before its first match

# Thai to Myanmar, Khmer, Hangul, kana and CJK with their extensions, and emoji.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2600-\u27bf\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    r"\uf900-\ufaff\uff66-\uff9f\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
# Compiled on first use: that takes 4 ms.
_UNSPACED_RUN = f"[{_UNSPACED}]+"
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexQuery:
    """A query of one index: `match` is in its query language; every text of `scanned` must occur, too."""

    pieces: bool  # True for the index of parts, False for the index of words
    match: str = ""
    scanned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snippet:
    """Part of a value around a match."""

    schema_name: ClassVar[str] = "SnippetRecord"

    text: str
    matches: Annotated[tuple[tuple[int, int], ...], "Start and end of each match, in characters."]


def is_unspaced(text: str) -> bool:
    """Return True if a text has words that only the index of parts finds."""
    return not text.isascii() and re.search(_UNSPACED_RUN, text) is not None


def split_terms(text: str) -> list[str]:
    """Return the distinct terms of a text; punctuation alone is not a term."""
    found = [term for term in normalise(text).split() if _WORD.search(term) or is_unspaced(term)]
    return list(dict.fromkeys(found))


def build_query(terms: list[str]) -> IndexQuery:
    """Return the query for entries with all terms."""
    if not any(is_unspaced(term) for term in terms):
        return IndexQuery(pieces=False, match=" AND ".join(_beginning(term) for term in terms))
    # An entry with an unspaced term is in the index of parts, with its whole text.
    whole = [quoted(term) for term in terms if len(term) >= PIECE]
    return IndexQuery(
        pieces=True, match=" AND ".join(whole), scanned=tuple(term for term in terms if len(term) < PIECE)
    )


def related_query(text: str) -> IndexQuery:
    """Return the query for entries with any of a text's spaced words in value or tags."""
    words = [word for word in _words(text) if not is_unspaced(word)][:MAX_TERMS]
    return IndexQuery(pieces=False, match=f"{{value tags}} : ({' OR '.join(map(quoted, words))})" if words else "")


def split_pairs(text: str) -> list[str]:
    """Return the pairs of adjacent characters in the unspaced words of a text; most such words have two."""
    runs = re.findall(_UNSPACED_RUN, normalise(text))
    found = [run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))]
    return list(dict.fromkeys(found))[:MAX_TERMS]


def quoted(term: str) -> str:
    """Return a term as a string of the index's query language."""
    return '"' + term.replace('"', '""') + '"'


def find_snippet(value: str, terms: list[str]) -> Snippet:
    """Return the part of a value around its first match."""
    marked = sorted(set(_marks(value, terms)))
    start = max(marked[0][0] - _BEFORE_MATCH, 0) if marked else 0
    start = value.find(" ", start, marked[0][0]) + 1 or start if start else 0
    shown = value[start : start + SNIPPET_CHARS]
    inside = [(begin - start, min(end - start, len(shown))) for begin, end in marked if begin - start < len(shown)]
    return Snippet(shown, tuple(_apart(inside)))


def _beginning(term: str) -> str:
    return f"{quoted(term)}*" if len(term) >= PIECE else quoted(term)


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(normalise(text))))


def _marks(value: str, terms: list[str]) -> Iterator[tuple[int, int]]:
    substrings = [term for term in terms if is_unspaced(term)]
    for term in substrings:
        yield from within_reach(found.span() for found in re.finditer(re.escape(term), value, re.IGNORECASE))
    words = [word for term in terms if term not in substrings for word in _words(term)]
    whole, beginnings = set(map(fold, words)), tuple(fold(word) for word in words if len(word) >= PIECE)

    def is_sought(word: str) -> bool:
        word = fold(word)
        return word in whole or word.startswith(beginnings)

    yield from within_reach(found.span() for found in (_WORD.finditer(value) if words else ()) if is_sought(found[0]))


def within_reach(marks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield marks from the first one, up to the maximum length of a snippet."""
    end = None
    for mark in marks:
        end = mark[0] + SNIPPET_CHARS if end is None else end
        if mark[0] > end:
            return
        yield mark


def fold(word: str) -> str:
    """Fold a word as the index of words compares it: without case and diacritics."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def _apart(marked: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    end = 0
    for begin, until in marked:
        if until > end:
            yield max(begin, end), until
            end = until
