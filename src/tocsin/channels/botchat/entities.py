"""Render Markdown as text with entities, which needs no escaping, so that no text is refused for its markup.

Source: docs/facts/botchat.md, "Parse modes"; docs/facts/markdown.md; Bot API, MessageEntity.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tocsin.core.text.markup import BOLD, CODE, ITALIC, LINK, STRIKE, Block, Mark, Renderer, Shown, TextRun
from tocsin.core.text.markup.inline import find_link, settle, with_mark
from tocsin.core.text.measures import utf16_units

MOST_ENTITIES = 100  # the server ignores further entities of a message
LONGEST_URL = 2_048
LONGEST_LANGUAGE = 64

_TYPES = {BOLD.kind: "bold", ITALIC.kind: "italic", STRIKE.kind: "strikethrough", CODE.kind: "code", LINK: "text_link"}
# The priority of entities if there are too many; readers miss the first ones most.
_RANK = {"pre": 0, "blockquote": 1, "text_link": 2, "code": 3}
# The server strips texts. A no-break space, which it keeps, preserves the indentation of code at the start of a
# message.
_KEPT_BLANK = "\u00a0"
_BLANKS = " \n\t"
_HOLD_CODE = ("pre", "blockquote")


class Span(NamedTuple):
    """A formatted range, in code points."""

    begin: int
    end: int
    type: str
    detail: tuple[tuple[str, str], ...] = ()  # further fields


class Entities(Renderer):
    """Renders Markdown as plain text and a list of formatted ranges."""

    quote = ""  # quotes are ranges, too

    def __init__(self, limit: int | None) -> None:
        super().__init__(limit, utf16_units)

    def can_link(self, url: str, label: str) -> bool:
        """Accept web addresses, unless the label already shows the address."""
        return url[:4].lower() == "http" and len(url) <= LONGEST_URL and label != url

    def show(self, block: Block) -> Shown:
        """Return the text of a block and its spans."""
        if block.code is not None:
            language = block.language[:LONGEST_LANGUAGE]
            detail = (("language", language),) if language else ()
            return Shown(block.code, (Span(0, len(block.code), "pre", detail),))
        runs = with_mark(block.runs, BOLD) if block.heading else block.runs
        runs = settle(map(_simplify, runs), by_line=False)
        first, following = self.indents(block)
        if following:
            runs = [run._replace(text=run.text.replace("\n", f"\n{following}")) for run in runs]
        runs = [TextRun(first), *runs]
        text = "".join(run.text for run in runs)
        return Shown(text if block.runs else text.rstrip(), tuple(_spans(runs)))

    def finish(self, blocks: Sequence[tuple[Block, Shown]]) -> Shown:
        """Join the blocks, add the quotes, and convert offsets to the server's units."""
        texts: list[str] = []
        spans: list[Span] = []
        quotes: dict[int, tuple[int, int]] = {}
        at, before = 0, None
        for block, shown in blocks:
            gap = self.gap(before, block) if before else ""
            begin = at + len(gap)
            at = begin + len(shown.text)
            texts += (gap, shown.text)
            spans += (span._replace(begin=span.begin + begin, end=span.end + begin) for span in shown.markup)
            if block.quote:
                quotes[block.quote] = (quotes.get(block.quote, (begin, at))[0], at)
            before = block
        spans += (Span(begin, end, "blockquote") for begin, end in quotes.values())
        return _strip("".join(texts), spans, self.limit)


def _simplify(run: TextRun) -> TextRun:
    """Return the run with marks that may be nested: code excludes every other mark, links included."""
    if CODE not in run.marks:
        return run
    link = find_link(run)
    return run._replace(marks=(link,) if link else (CODE,))


def _spans(runs: Iterable[TextRun]) -> Iterator[Span]:
    """Yield the ranges of the marks; they nest correctly, because the marks of each run are in order."""
    opened: list[tuple[Mark, int]] = []
    at = 0
    for text, marks in (*runs, TextRun("")):
        shared = 0
        while shared < min(len(opened), len(marks)) and opened[shared][0] == marks[shared]:
            shared += 1
        while len(opened) > shared:
            mark, begin = opened.pop()
            yield Span(begin, at, _TYPES[mark.kind], (("url", mark.url),) if mark.url else ())
        opened += ((mark, at) for mark in marks[shared:])
        at += len(text)


def _strip(text: str, spans: Sequence[Span], limit: int | None) -> Shown:
    """Strip the text as the server does, and return it with its entities in UTF-16 units."""
    if text[:1] in tuple(_BLANKS) and any(span.type == "pre" and span.begin == 0 for span in spans):
        kept_blank = _KEPT_BLANK + text[text[0] != "\n" :]
        # If an empty line follows, the no-break space makes the text one character longer. If that exceeds the limit,
        # the line is lost.
        text = kept_blank if limit is None or utf16_units(kept_blank) <= limit else text
    cut = len(text) - len(text.lstrip(_BLANKS))
    text = text.strip(_BLANKS)
    kept = []
    for span in spans:
        begin, end = max(0, span.begin - cut), min(len(text), span.end - cut)
        inside = text[begin:end]
        if inside.strip():  # the server removes leading whitespace from a range, except from code
            blanks = 0 if span.type in _HOLD_CODE else len(inside) - len(inside.lstrip(_BLANKS))
            kept.append(span._replace(begin=begin + blanks, end=end))
    if len(kept) > MOST_ENTITIES:
        kept = sorted(kept, key=lambda span: (_RANK.get(span.type, 4), span.begin))[:MOST_ENTITIES]
    wide = [found.start() for found in re.finditer("[\U00010000-\U0010ffff]", text)]
    kept.reverse()  # of two equal ranges, the outer one was closed last and must come first
    return Shown(text, tuple(_entity(span, wide) for span in sorted(kept, key=_outer_first)))


def _outer_first(span: Span) -> tuple[int, int, bool]:
    return span.begin, -span.end, span.type != "blockquote"


def _entity(span: Span, wide: Sequence[int]) -> dict[str, Any]:
    """Return a span in the Bot API's form; each character in `wide` counts twice."""
    begin = span.begin + bisect_left(wide, span.begin)
    end = span.end + bisect_left(wide, span.end)
    return {"type": span.type, "offset": begin, "length": end - begin, **dict(span.detail)}
