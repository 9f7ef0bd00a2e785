"""Read the markup of chat products: marks around words, fences of code, links, and marks at the start of a line."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tocsin.channels.layout.model import TextSpan

_FENCE = re.compile(r"```(?:[A-Za-z0-9_+.#-]*\n)?(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"(`{1,2})(.+?)\1")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")

Reference = tuple[re.Pattern[str], Callable[[re.Match[str]], TextSpan]]


@dataclass(frozen=True)  # without slots, for what is cached
class MarkRules:
    """The markup of one product."""

    marks: Mapping[str, str]  # a mark and its style; of marks that begin alike, the longest first
    lines: Sequence[tuple[re.Pattern[str], str]] = ()  # what begins a line, and the style of the line
    references: Sequence[Reference] = ()  # links and mentions
    escapes: bool = False  # a backslash disarms punctuation
    decode: Callable[[str], str] = str  # resolves the product's character references

    @cached_property
    def begins(self) -> re.Pattern[str]:
        """The pattern of the characters that may begin a mark, a link, code or an escape."""
        escape = ["\\\\"] if self.escapes else []
        sources = [*map(re.escape, self.marks), "`", *escape, *(pattern.pattern for pattern, _ in self.references)]
        return re.compile("|".join(sources))


def marked_spans(text: str, rules: MarkRules) -> Iterator[TextSpan]:
    """Yield the spans of a text with marks; a mark that is not closed is text."""
    at = 0
    for fence in _FENCE.finditer(text):
        yield from _lines(text[at : fence.start()], rules)
        yield TextSpan(rules.decode(fence[1]), ("pre",))
        at = fence.end()
    yield from _lines(text[at:], rules)


def _lines(text: str, rules: MarkRules) -> Iterator[TextSpan]:
    for line in text.splitlines(keepends=True):
        for pattern, style in rules.lines:
            if begins := pattern.match(line):
                yield from _inline(line[begins.end() :], rules, (style,))
                break
        else:
            yield from _inline(line, rules, ())


def _inline(text: str, rules: MarkRules, styles: tuple[str, ...]) -> Iterator[TextSpan]:
    begin = at = 0
    # A mark that is closed nowhere after one place is closed nowhere after a later one.
    marks = {mark: style for mark, style in rules.marks.items() if style not in styles}
    while found := rules.begins.search(text, at):
        at = found.start()
        spans, end = _read(text, at, rules, styles, marks)
        if end == at:
            at += 1
            continue
        if at > begin:
            yield TextSpan(rules.decode(text[begin:at]), styles)
        yield from spans
        begin = at = end
    if begin < len(text):
        yield TextSpan(rules.decode(text[begin:]), styles)


def _read(
    text: str, at: int, rules: MarkRules, styles: tuple[str, ...], marks: dict[str, str]
) -> tuple[list[TextSpan], int]:
    """Return the spans that begin at `at`, and where they end: at `at` itself if nothing acts there."""
    if rules.escapes and (escaped := _ESCAPED.match(text, at)):
        return [TextSpan(escaped[1], styles)], escaped.end()
    if code := _CODE.match(text, at):
        return [TextSpan(rules.decode(code[2]), (*styles, "code"))], code.end()
    for pattern, read in rules.references:
        if found := pattern.match(text, at):
            span = read(found)
            return [TextSpan(span.text, (*styles, *span.styles), span.url)], found.end()
    mark = next((each for each in marks if text.startswith(each, at)), "")
    start = at + len(mark)
    if not mark or text[at - 1 : at].isalnum() or not text[start : start + 1].strip():
        return [], at
    end = _closing(text, start, mark)
    if not end:
        del marks[mark]
        return [], at
    return list(_inline(text[start:end], rules, (*styles, marks[mark]))), end + len(mark)


def _closing(text: str, start: int, mark: str) -> int:
    """Return where the mark that opens before `start` closes; 0 if nowhere."""
    end = text.find(mark, start + 1)
    while end > 0:
        before, after = text[end - 1], text[end + len(mark) : end + len(mark) + 1]
        if not before.isspace() and before != "\\" and not after.isalnum() and after != mark[0]:
            return end
        end = text.find(mark, end + 1)
    return 0
