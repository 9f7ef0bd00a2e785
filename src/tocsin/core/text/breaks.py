"""Suitable cuts in texts, both in raw source and in blocks of Markdown.

A *cut* is the number of code points before it; the rest begins after the blanks at it. Facts: docs/facts/splitting.md.
"""

import re
from collections.abc import Iterable, Iterator

_BLANKS = re.compile(r"\s*+")
_GAP = re.compile(r"\s++")
_NO_BREAK = "\u00a0\u2007\u202f"
_SENTENCE_END = re.compile(
    r"[.!?…][\"'”’»)\]]{0,3}+(?=\s)"
    r"|[\u3002\uff01\uff1f][”’\u300d\u300f\uff09]{0,3}+(?![\u3002\uff01\uff1f])"  # the full-width forms
)


def ranked_cuts(text: str, start: int, half: int, last: int) -> Iterator[Iterable[int]]:
    """Yield the cuts up to `last` at paragraphs, lines, sentences and words, each rank from the last cut.

    Only words are searched from `start`: any other rank must leave the part at least `half` full.
    """
    gaps = [gap.start() for gap in _GAP.finditer(text, start, last + 1)][::-1]
    ends = [(cut, text.count("\n", cut, after_gap(text, cut))) for cut in gaps if cut >= half]
    yield (cut for cut, newlines in ends if newlines > 1)
    yield (cut for cut, newlines in ends if newlines == 1)
    sentences = [found.end() for found in _SENTENCE_END.finditer(text, half, last + 1)]
    yield (cut for cut in reversed(sentences) if cut <= last)
    yield (cut for cut in gaps if text[cut] not in _NO_BREAK)


def after_gap(text: str, at: int) -> int:
    """Return the end of the blanks from `at`."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def after_cut(text: str, at: int) -> int:
    """Return the start of the rest after a cut at `at`: after the blanks, but with its indentation."""
    end = after_gap(text, at)
    newline = text.rfind("\n", at, end)
    return end if newline < 0 else newline + 1
