"""Make text fit: how long a channel finds it, where it may be cut, how it is shortened."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

Measure = Callable[[str], int]

_LINE_ENDS = r"\r\n?"


def code_points(text: str) -> int:
    """Count Unicode code points."""
    return len(text)


def utf16_units(text: str) -> int:
    """Count UTF-16 units: an emoji outside the basic plane counts twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def escaped_code_points(text: str) -> int:
    """Count code points after `&`, `<` and `>` became `&amp;`, `&lt;` and `&gt;`."""
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def normalise(text: str) -> str:
    """Turn CRLF and CR into LF, drop NUL, join surrogate pairs and replace lone surrogates by U+FFFD."""
    text = re.sub(_LINE_ENDS, "\n", text.replace("\0", ""))
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def widest(measure: Measure) -> int:
    """Return the units that one code point takes at most."""
    return max(measure("&"), measure("\U0001f600"))


def storable(text: str) -> str:
    """Return `text` with what no UTF-8 can hold, half a surrogate pair, replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def readable(value: object) -> str:
    """Return `value` as text, whatever its own `__str__` does."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # whoever reports a failure must not fail
        return f"<{type(value).__name__}>"


def split(text: str, limit: int, measure: Measure = code_points) -> list[str]:
    """Split `text` into parts of at most `limit` units of `measure`.

    Cuts at a paragraph, else a line, a sentence, a word; an open code fence is closed at
    the cut and reopened. Blank text gives no parts. A measure must add up: the length of a
    text is the sum of the lengths of its code points, each at least 1. Raises ValueError if
    `limit` cannot hold every single code point. Source: channel fact book, "Splitting text".
    """
    if limit < widest(measure):
        raise ValueError(f"a limit of {limit} cannot hold every single character")
    text = normalise(text)
    if not text.strip():
        return []
    if measure(text) <= limit and "```" not in text and "~~~" not in text:
        return [text]
    from tocsin.core.text import splitting

    if measure(text) <= limit and not splitting.ends_in_open_fence(text, limit, measure):
        return [text]
    return splitting.cut_up(text, limit, measure)


def truncate(text: str, limit: int, measure: Measure = code_points, ellipsis: str = "…") -> str:
    """Shorten `text` to at most `limit` units of `measure`, ending in `ellipsis` if anything was cut.

    The text is normalised first. Whole grapheme clusters are kept or dropped. An ellipsis
    that does not fit the limit is left out.
    """
    text = normalise(text)
    if measure(text) <= limit:
        return text
    if measure(ellipsis) > limit:
        ellipsis = ""
    last = reach(text, 0, limit - measure(ellipsis), measure)
    ends = cluster_ends(text, 0, last)
    return text[: ends[-1] if ends else 0] + ellipsis


def reach(text: str, start: int, room: int, measure: Measure) -> int:
    """Return the largest end such that `text[start:end]` takes at most `room` units."""
    ends = range(start + 1, min(len(text), start + max(room, 0)) + 1)
    return start + bisect_right(ends, room, key=lambda end: measure(text[start:end]))


def cluster_ends(text: str, start: int, last: int) -> Sequence[int]:
    """Return where the grapheme clusters (UAX 29) of `text` from `start` on end, up to `last`."""
    if text[start : last + 1].isascii():
        return range(start + 1, last + 1)
    import regex  # costs more to import than most texts to send

    ends: list[int] = []
    at, size = start, 64  # regex counts flags from the start of what it is given: keep that short
    while at < last:
        found = [at + cluster.end() for cluster in regex.finditer(r"\X", text[at : at + size])]
        if at + size < len(text):
            found.pop()  # it may go on behind the piece
        if not found and at + size > last:
            break
        size = 64 if found else 2 * size
        ends += found
        at = found[-1] if found else at
    return ends[: bisect_right(ends, last)]
