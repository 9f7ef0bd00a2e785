"""Close incomplete Markdown at its end, so that a streamed text renders as it will when complete.

Otherwise the marks of a style, or half an address, would be displayed as text until the rest arrives.
"""

import re
from collections import Counter
from typing import NamedTuple

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_ITEM = r"[ \t]*(?:[-*+]|\d{1,9}[.)]|#{1,6}|>|\|)[ \t]+"
# Styles do not extend across a blank line, nor into another list item, heading, quote or table row.
_BLOCK = re.compile(rf"\n[ \t]*\n|\n{_ITEM}|\A{_ITEM}")
# A line of marks alone begins something that is not yet known.
_MARKS_ALONE = re.compile(r"(?:\A|\n)[ \t]*(?:[-+=#>]+|[*_]{1,3}|[~`]{1,2}|\d{1,9}[.)])[ \t]*\Z")
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*\)")
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\s]*)?)?\Z")
_STYLE = re.compile(r"\*+|_+|~+")
_HALF_STRIKE = re.compile(r"(?<![\\~])~\Z")
_CODE = re.compile(r"(`+)(?!`)")


class _Open(NamedTuple):
    """Unclosed marks of a style."""

    mark: str
    number: int
    end: int  # their end


class _Opened(list[_Open]):
    """The marks of open styles, in order."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    def take(self, text: str, style: re.Match[str]) -> None:
        """Let the marks close open styles, and open the rest of them."""
        mark, count = style[0][0], len(style[0])
        before, after = text[style.start() - 1 : style.start()], text[style.end() : style.end() + 1]
        while count and before.strip() and (last := self._cut_to(mark)) is not None:
            taken = min(count, last.number)
            if last.number > taken:
                self._open(mark, last.number - taken, style.start())
            count -= taken
        stands_alone = mark == "~" and count != 2
        inside_word = before.isalnum() and (mark == "_" or count == 1)
        if count and not after.isspace() and not stands_alone and not inside_word:
            self._open(mark, count, style.end())

    def _cut_to(self, mark: str) -> _Open | None:
        """Remove the newest of this mark and all later ones, which were no styles; return it."""
        if not self._counts[mark]:  # an unsuccessful search would visit all marks again for each of many
            return None
        while True:
            last = self.pop()
            self._counts[last.mark] -= 1
            if last.mark == mark:
                return last

    def _open(self, mark: str, number: int, end: int) -> None:
        self.append(_Open(mark, number, end))
        self._counts[mark] += 1


def close_markup(source: str) -> str:
    """Return `source` with all open markup closed at its end; complete Markdown is returned unchanged."""
    fence = _open_fence(source)
    source = _MARKS_ALONE.sub("", source)
    if fence:
        return f"{source}\n{fence}"
    begin = max((found.end() for found in _BLOCK.finditer(source)), default=0)
    return source[:begin] + _closed(source[begin:])


def _open_fence(source: str) -> str:
    """Return the marks of the code fence that is open at the end, or an empty text."""
    opened = ""
    for line in source.split("\n"):
        found = _FENCE.match(line)
        if not found:
            continue
        marks, rest = found.groups()
        if not opened:
            opened = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(opened) and not rest.strip():
            opened = ""
    return opened


def _closed(text: str) -> str:
    """Close the open markup at the end of one block."""
    opened = _Opened()
    text = _HALF_STRIKE.sub("", text)
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif code := _CODE.match(text, at):
            at = _end_of_code(text, code)
            if not at:
                text = _with_code_closed(text, code)
                break
        elif link := _LINK.match(text, at):
            at = link.end()
        elif half := _HALF_LINK.match(text, at):
            text = text[:at] + half[1]
        elif style := _STYLE.match(text, at):
            at = style.end()
            opened.take(text, style)
        else:
            at += 1
    text = text.rstrip() if opened else text
    while opened and opened[-1].end >= len(text):  # there is no text yet that they could style
        text = text[: -opened.pop().number].rstrip()
    return text + "".join(each.mark * each.number for each in reversed(opened))


def _end_of_code(text: str, code: re.Match[str]) -> int:
    """Return the end of the code that begins with these marks, or 0 if it is open."""
    found = re.compile(rf"(?<!`){code[1]}(?!`)").search(text, code.end())
    return found.end() if found else 0


def _with_code_closed(text: str, code: re.Match[str]) -> str:
    body = text.rstrip().rstrip("`")  # some of the closing marks may be present
    return text[: code.start()].rstrip() if len(body) <= code.start() else body + code[1]
