"""Normalise, split and shorten texts."""

import re

from tocsin.core.text.measures import Measure, cluster_ends, code_points, reach, widest


def normalise(text: str) -> str:
    """Replace CRLF and CR by LF, remove NUL, join surrogate pairs and replace lone surrogates by U+FFFD."""
    text = text.replace("\0", "")
    if "\r" in text:  # the check is 20 times as fast as a substitution without a match, and a send normalises six texts
        text = re.sub("\r\n?", "\n", text)
    return storable(text)


def storable(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def safe_str(value: object) -> str:
    """Convert `value` to text even if its `__str__` raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # reporting a failure must not fail
        return f"<{type(value).__name__}>"


def split(text: str, limit: int, measure: Measure = code_points) -> list[str]:
    """Split `text` into parts of at most `limit` units of `measure`.

    Cuts at a paragraph, else a line, a sentence, a word; an open code fence is closed at
    the cut and reopened. Blank text gives no parts. A measure must add up: the length of a
    text is the sum of the lengths of its code points, each at least 1. Raises ValueError if
    `limit` cannot hold every single code point.
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
    """Shorten `text` to at most `limit` units of `measure`, ending with `ellipsis` if anything was cut.

    The text is normalised first. Grapheme clusters are never divided. An ellipsis that does not fit the limit is
    omitted.
    """
    text = normalise(text)
    if measure(text) <= limit:
        return text
    if measure(ellipsis) > limit:
        ellipsis = ""
    last = reach(text, 0, limit - measure(ellipsis), measure)
    ends = cluster_ends(text, 0, last)
    return text[: ends[-1] if ends else 0] + ellipsis


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 rule` or `3 rules`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def byte_count(count: int, mib: str = ",.4g") -> str:
    """Return a size in bytes, or from 1 MiB on in MiB with the format `mib`."""
    return f"{count:,} bytes" if count < 2**20 else f"{count / 2**20:{mib}} MiB"
