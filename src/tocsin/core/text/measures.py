"""Measure a text as a channel does: its length, how much of it fits, and where it may be cut."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

Measure = Callable[[str], int]


def code_points(text: str) -> int:
    return len(text)


def utf16_units(text: str) -> int:
    """Count UTF-16 units: an emoji outside the basic plane counts twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Count bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def escaped_code_points(text: str) -> int:
    """Count code points after `&`, `<` and `>` became `&amp;`, `&lt;` and `&gt;`."""
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


@cache
def widest(measure: Measure) -> int:
    """Return the maximum units of one code point."""
    return max(measure("&"), measure("\U0001f600"))


def reach(text: str, start: int, room: int, measure: Measure) -> int:
    """Return the largest end such that `text[start:end]` takes at most `room` units."""
    ends = range(start + 1, min(len(text), start + max(room, 0)) + 1)
    return start + bisect_right(ends, room, key=lambda end: measure(text[start:end]))


def cluster_ends(text: str, start: int, last: int) -> Sequence[int]:
    """Return the ends of the grapheme clusters (UAX 29) of `text` from `start`, up to `last`."""
    if text[start : last + 1].isascii():
        return range(start + 1, last + 1)
    import regex  # costs more to import than most texts to send

    ends: list[int] = []
    at, size = start, 64  # regex counts flags from the start of its input: keep that short
    while at < last:
        found = [at + cluster.end() for cluster in regex.finditer(r"\X", text[at : at + size])]
        if at + size < len(text):
            found.pop()  # the cluster may continue after the piece
        if not found and at + size > last:
            break
        size = 64 if found else 2 * size
        ends += found
        at = found[-1] if found else at
    return ends[: bisect_right(ends, last)]
