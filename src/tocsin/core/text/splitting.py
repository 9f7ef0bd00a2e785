"""Choose where a long text is cut: code fences, Markdown items, and the ranking of cuts.

`tocsin.core.text.strings.split` is the public function. Every position is an index into the whole text; a *cut* is the
end of a part, and the rest begins after the blanks that the cut removes. Source of the rules: docs/facts/splitting.md.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse, takewhile
from typing import NamedTuple

from tocsin.core.text.breaks import after_cut, after_gap, ranked_cuts
from tocsin.core.text.measures import Measure, cluster_ends, reach, widest

# Every repetition that may fail late is possessive or bounded, so that hostile text takes linear time.
_FENCE = r"( {0,3})(`{3,}+|~{3,}+)((?<=`)[^`\n]*+|(?<=~)[^\n]*+)"
_FENCE_LINE = re.compile("^" + _FENCE, re.MULTILINE)
_FENCE_HERE = re.compile(_FENCE)
_CLOSING_LINE = re.compile(r" {0,3}(`{3,}+|~{3,}+)[^\S\n]*+(?=\n|\Z)")
_FENCE_TAIL = re.compile(r"^( {0,3}(?:```|~~~)(?:[^\n]*\S)?+)[^\S\n]++$", re.MULTILINE)
_SEEMING_FENCE = re.compile(r" {0,3}(?:`{3,}+[^`\n]*+(?:\n|\Z)|~~~)")
_MARKS = re.compile(r"`{3,}+|~{3,}+")
_BLANK_LINES_FIRST = re.compile(r"\A(?:[^\S\n]*+\n)++")
_NEWLINE = re.compile(r"\n")
_PARAGRAPH_END = re.compile(r"\n(?:[^\S\n]*+\n)++")
_BACKTICKS = re.compile(r"`++")
_ITEM = re.compile(
    r"""
      \\[!-/:-@\[-`{-~]                                            # backslash escape
    | `++                                                          # inline code, paired by _code_spans
    | !?\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]                          # [text, one [level] nested]
      \((?:[^()\n]++|\([^()\n]*+\))*+\)                            # (destination, one (level) nested)
    | <(?=[^\s<>])[^<>\n]*+>                                       # autolink, mention, tag
    | \b(?:[A-Za-z][A-Za-z0-9+.\-]{1,20}+://|www\.)[^\s<>\u3001-\u301f\uff01-\uff1f]++  # URL
    | &(?:[A-Za-z][A-Za-z0-9]{1,31}+|\#[0-9]{1,7}+|\#[xX][0-9a-fA-F]{1,6}+);
    """,
    re.VERBOSE,
)

_PAD = " " * 4  # CommonMark ignores fences after this indentation


class Fence(NamedTuple):
    """An open code fence: the line that reopens it and the line that closes it."""

    opening: str
    closing: str

    def closed_by(self, text: str, at: int) -> int:
        """Return the end of the line at `at` if it closes this fence, else -1."""
        line = _CLOSING_LINE.match(text, at)
        return line.end() if line and line[1].startswith(self.closing.lstrip(" ")) else -1


class FencedBlock(NamedTuple):
    """The positions of a fenced block: its opening line, its body, its closing line and its end."""

    fence: Fence
    begin: int
    body: int
    close: int
    end: int


class Rest(NamedTuple):
    """The remaining text: its start, the fence open there, and the prefix of the next part."""

    start: int
    fence: Fence | None
    head: str


def cut_up(text: str, limit: int, measure: Measure) -> list[str]:
    """Split normalised, non-blank `text` into parts; see `tocsin.core.text.strings.split`."""
    text = _tidy(text)
    rest = Rest(0, None, "")
    parts = []
    while rest.start < len(text):
        view = _View(text, rest, limit, measure)
        cut = view.best_cut()
        parts.append(view.part(cut))
        rest = view.rest(cut)
    return parts


def ends_in_open_fence(text: str, limit: int, measure: Measure) -> bool:
    """Whether `text`, which fits `limit`, leaves a code fence open."""
    text = _tidy(text)
    return _View(text, Rest(0, None, ""), limit, measure).block_at(len(text)) is not None


def _tidy(text: str) -> str:
    """Remove leading blank lines and trailing blanks, also those of fence lines: a channel that trims adds no fence."""
    return _BLANK_LINES_FIRST.sub("", _FENCE_TAIL.sub(r"\1", text.rstrip()))


def _paragraphs(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    for gap in _PARAGRAPH_END.finditer(text, begin, end):
        yield begin, gap.start()
        begin = gap.end()
    yield begin, end


def _code_spans(text: str, begin: int, end: int) -> dict[int, int]:
    """Map the start of each run of backticks to the end of the next run of the same length."""
    spans: dict[int, int] = {}
    later: dict[int, int] = {}
    for run in reversed(list(_BACKTICKS.finditer(text, begin, end))):
        length = run.end() - run.start()
        if length in later:
            spans[run.start()] = later[length]
        later[length] = run.end()
    return spans


def _items(text: str, begin: int, end: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the Markdown items of one paragraph that begin before `last`."""
    code = _code_spans(text, begin, end)
    at = begin
    while (found := _ITEM.search(text, at, end)) and found.start() < last:
        begin, at = found.span()
        if text[begin] != "`":
            yield begin, at
        elif begin in code:
            at = code[begin]
            yield begin, at


class _View:
    """The window in which one part is cut: the cuts that fit, the forbidden ones, and the best one."""

    def __init__(self, text: str, rest: Rest, limit: int, measure: Measure) -> None:
        self.text, self.limit, self.measure = text, limit, measure
        self.start, fence, self.head = rest
        need = len(_PAD) + widest(measure)
        self.pad = _PAD if limit > need else ""
        # A fence with longer lines is cut like ordinary text: they cannot be repeated in every part, and would multiply
        # a message instead of splitting it if they left less than an eighth of each part.
        self.room_for_fence = limit - max(need, limit // 8) - len("\n\n")
        self.ink = self.start if fence else after_gap(text, self.start)
        if self.ink - self.start > min(limit // 2, limit - widest(measure)):  # it would fill parts of its own
            self.start, self.head = self.ink, self._guard(self.ink)
        # Twice the limit covers every item that begins in this part and is not longer than a part.
        self.stop = min(len(text), self.start + 2 * limit + 1)
        self.room = limit - measure(self.head)
        self.last = reach(text, self.start, self.room, measure)
        self.unwanted = bytearray(self.last - self.start + 1)  # 1: cut only if necessary
        self.impossible = bytearray(self.unwanted)  # 1: a cut would break or create a fence line
        self._avoid_divided_marks()
        self.blocks = list(self._read_blocks(fence))
        self.begins = [block.begin for block in self.blocks]
        self.last_inside: dict[str, int] = {}

    # Reading the window

    def _read_blocks(self, fence: Fence | None) -> Iterator[FencedBlock]:
        begin = body = self.start
        for line in self._fence_lines():
            if fence is None:
                begin, body = line.start(), min(line.end() + 1, len(self.text))
                fence = self._opened_by(line)
            elif (end := fence.closed_by(self.text, line.start())) >= 0:
                yield self._guarded(FencedBlock(fence, begin, body, line.start(), end))
                fence = None
            else:
                self._forbid_false_closing(line, fence)
        if fence:
            beyond = len(self.text) + 1
            yield self._guarded(FencedBlock(fence, begin, body, beyond, beyond))

    def _fence_lines(self) -> Iterator[re.Match[str]]:
        found: Iterable[re.Match[str]] = _FENCE_LINE.finditer(self.text, self.start, self.stop)
        first = _FENCE_HERE.match(self.text, self.start, self.stop)
        if first and not self._is_line_start(self.start) and not self.head.endswith(_PAD):
            found = chain([first], found)  # the part begins within a line, but its reader sees a line start
        return takewhile(lambda line: line.start() <= self.last + 1, found)

    def _opened_by(self, line: re.Match[str]) -> Fence | None:
        indent, marker, _ = line.groups()
        fence = Fence(line[0], indent + marker)
        whole = self.text[line.end() : line.end() + 1] in {"", "\n"}
        if whole and self.measure(fence.opening + fence.closing) <= self.room_for_fence:
            return fence
        # The line is no fence, but its beginning would be one if a part ended there.
        self._forbid(line.start(2) + 2, line.end() + (not whole))
        return None

    def _forbid_false_closing(self, line: re.Match[str], fence: Fence) -> None:
        marker = fence.closing.lstrip(" ")
        if line[2].startswith(marker):
            blanks = len(line[3]) - len(line[3].lstrip())
            self._forbid(line.start(2) + len(marker) - 1, line.end(2) + blanks + 1)

    def _guarded(self, block: FencedBlock) -> FencedBlock:
        empty = block.body == block.close
        if block.begin < block.body:
            self._forbid(block.begin, block.body + (not empty))
        self._forbid(block.close, block.end)
        self._mark(self.unwanted, block.close - 1, block.end)
        return block

    def _avoid_divided_marks(self) -> None:
        """Avoid cuts after which the rest of a run of fence marks would begin a part as a fence."""
        for marks in _MARKS.finditer(self.text, self.start, self.last + 3):
            self._mark(self.unwanted, marks.start(), marks.end() - 2)

    def _avoid_items(self) -> None:
        ends = [self.start, *(block.end for block in self.blocks)]
        for begin, end in zip(ends, [*self.begins, self.stop], strict=True):
            for paragraph in _paragraphs(self.text, begin, max(begin, end)):
                for item in _items(self.text, *paragraph, self.last):
                    if self.measure(self.text[slice(*item)]) <= self.limit:
                        self._mark(self.unwanted, *item)

    def _forbid(self, after: int, before: int) -> None:
        self._mark(self.unwanted, after, before)
        self._mark(self.impossible, after, before)

    def _mark(self, cuts: bytearray, after: int, before: int) -> None:
        begin = max(after + 1 - self.start, 0)
        end = min(before - self.start, len(cuts))
        if begin < end:
            cuts[begin:end] = b"\1" * (end - begin)

    # Judging a cut

    def block_at(self, cut: int) -> FencedBlock | None:
        """Return the block whose body a cut at `cut` would divide."""
        index = bisect_right(self.begins, cut) - 1
        if index < 0:
            return None
        block = self.blocks[index]
        return block if block.body <= cut < block.end else None

    def _fits(self, cut: int) -> bool:
        block = self.block_at(cut)
        if block is None:
            return cut <= self.last
        tail = "\n" + block.fence.closing
        if tail not in self.last_inside:
            room = self.room - self.measure(tail)
            self.last_inside[tail] = reach(self.text, self.start, room, self.measure)
        return cut <= self.last_inside[tail]

    def _is_possible(self, cut: int) -> bool:
        if cut <= self.ink or self.impossible[cut - self.start] or not self._fits(cut):
            return False
        # Outside fences, the same cut before the blanks keeps the indentation after them.
        return not self.text[cut - 1].isspace() or self.block_at(cut) is not None

    def _is_allowed(self, cut: int) -> bool:
        if self.unwanted[cut - self.start] or not self._is_possible(cut):
            return False
        return not self._guard(self._resume(cut))

    def _is_line_start(self, at: int) -> bool:
        return at == 0 or self.text[at - 1] == "\n"

    def _guard(self, at: int) -> str:
        """Return the indentation that prevents the text at `at` from being parsed as a fence."""
        if self._is_line_start(at) or not _SEEMING_FENCE.match(self.text, at, at + 2 * self.limit):
            return ""
        return self.pad

    def _resume(self, cut: int) -> int:
        if self.block_at(cut) is None:
            return after_cut(self.text, cut)
        return cut + self.text.startswith("\n", cut)

    # Choosing a cut

    def best_cut(self) -> int:
        """Return the last allowed cut of the best rank, or the end of the text if all of it fits."""
        if self.last == len(self.text) and self._fits(self.last):
            return self.last
        self._avoid_items()
        for cuts in self._ranks():
            for cut in cuts:
                if self._is_allowed(cut):
                    return cut
        return self._cut_by_character()

    def _ranks(self) -> Iterator[Iterable[int]]:
        """Yield the cuts at paragraphs, lines, code lines, sentences and words, each from the last one."""
        half = reach(self.text, self.start, (self.limit - 1) // 2 - self.measure(self.head), self.measure) + 1
        paragraphs, lines, sentences, words = ranked_cuts(self.text, self.ink, half, self.last)
        yield filterfalse(self.block_at, paragraphs)
        yield filterfalse(self.block_at, lines)
        if self.blocks:
            line_ends = [found.start() for found in _NEWLINE.finditer(self.text, half, self.last + 1)]
            yield filter(self.block_at, reversed(line_ends))
        yield from (sentences, words)

    def _cut_by_character(self) -> int:
        clusters = cluster_ends(self.text, self.start, self.last)
        points = range(self.start + 1, self.last + 1)
        for cuts in (clusters, points):
            for is_good in (self._is_allowed, self._is_possible):
                for cut in filter(is_good, reversed(cuts)):
                    return cut
        return self.last  # no known text gets here; any that does must still make progress

    # Carrying it out

    def part(self, cut: int) -> str:
        """Return the part that ends at `cut`, its fence closed."""
        piece = self.head + self.text[self.start : cut]
        block = self.block_at(cut)
        if block is None:
            return piece.rstrip()
        ended = piece.endswith("\n") and not self.text.startswith("\n", cut)
        return piece + ("" if ended else "\n") + block.fence.closing

    def rest(self, cut: int) -> Rest:
        """Return the remaining text after a cut at `cut`."""
        block, start = self.block_at(cut), self._resume(cut)
        if block is None:
            return Rest(start, None, self._guard(start))
        if start == block.close:  # only the closing line remains, and the part has one
            return Rest(after_cut(self.text, block.end), None, "")
        return Rest(start, block.fence, block.fence.opening + "\n" + self._guard(start))
