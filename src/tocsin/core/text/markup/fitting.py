"""Pack blocks into parts: as many as fit, the last one cut at a suitable place.

The same blocks are always cut the same way, so that an interrupted send continues with the right part.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tocsin.core.text.breaks import after_cut, ranked_cuts
from tocsin.core.text.markup.dialect import Renderer
from tocsin.core.text.markup.model import CODE, LINK, Block, Shown, TextRun, plain_text
from tocsin.core.text.measures import cluster_ends

# Products may remove blanks at both ends of a part, so parts have none.
_CLEAN_LINE_END = re.compile(r"(?<=\S)\n(?=\S)")


def fit(blocks: Sequence[Block], dialect: Renderer) -> list[Shown]:
    """Return the parts that render `blocks`, each within the renderer's limit and none blank."""
    parts = []
    page = _Page(dialect)
    for block in blocks:
        rest = block
        while (left := page.take(rest)) is not None:
            parts.append(page.close())
            rest = left
    parts.append(page.close())
    return [part for part in parts if part.text.strip()]


class _Page:
    """A part while it is being filled."""

    def __init__(self, dialect: Renderer) -> None:
        self._dialect = dialect
        self._blocks: list[tuple[Block, Shown]] = []
        self._size = 0

    def close(self) -> Shown:
        """Return the part and begin the next one."""
        blocks, self._blocks, self._size = self._blocks, [], 0
        return self._dialect.finish(blocks)

    def take(self, block: Block) -> Block | None:
        """Add as much of `block` as fits; return the rest for the next part."""
        dialect = self._dialect
        gap = dialect.measure(dialect.gap(self._blocks[-1][0], block)) if self._blocks else 0
        room = None if dialect.limit is None else dialect.limit - self._size - gap
        if room is None or not block.is_longer_than(room):
            shown = dialect.show(block)
            if room is None or dialect.measure(shown.text) <= room:
                self._add(block, shown, gap)
                return None
        if self._blocks and 2 * self._size >= (dialect.limit or 0):
            return block
        return self._take_some(block, room, gap)

    def _take_some(self, block: Block, room: int, gap: int) -> Block | None:
        alone = not self._blocks
        found = _cut(block, room, self._dialect, by_force=alone)
        if found is None and alone:
            block = _bare(block)  # prefixes and marks alone fill a part: keep only the text
            found = _cut(block, room, self._dialect, by_force=True)
        if found is None:
            return None if alone else block
        head, shown, rest = found
        self._add(head, shown, gap)
        return rest

    def _add(self, block: Block, shown: Shown, gap: int) -> None:
        self._size += gap + self._dialect.measure(shown.text)
        self._blocks.append((block, shown))


class _Head(NamedTuple):
    block: Block
    shown: Shown
    rest: Block | None


def _cut(block: Block, room: int, dialect: Renderer, *, by_force: bool) -> _Head | None:
    """Return as much of `block` as fits `room`, cut at a suitable place, or with `by_force` anywhere."""
    view = _View(block, room, dialect.limit or room)
    last = view.last
    while last > 0 and (cut := view.best(last, by_force=by_force)):
        head = block.until(cut)
        shown = dialect.show(head)
        size = dialect.measure(shown.text)
        if size <= room:
            return _Head(head, shown, block.since(view.resume(cut)))
        last = min(cut - 1, cut * max(room, 0) // size)
    return None


def _bare(block: Block) -> Block:
    return Block((TextRun(plain_text(block.runs) if block.code is None else block.code),))


class _View:
    """The beginning of a block, in which it is cut. A cut is the number of code points before it."""

    def __init__(self, block: Block, room: int, limit: int) -> None:
        runs = block.beginning(max(room, 0) + 256)
        self._is_code = block.code is not None
        self._text = plain_text(runs)
        # Blanks in code and links are no cuts if the whole of it fits a part of its own.
        self._open = self._text if self._is_code else "".join(_masked(runs, limit * 9 // 10))
        self.last = min(len(self._text), max(room, 0))

    def best(self, last: int, *, by_force: bool) -> int:
        """Return the best cut up to `last`, or 0."""
        cuts = self._code_cuts(last) if self._is_code else self._text_cuts(last)
        if cut := next(cuts, 0):
            return cut
        if not by_force:
            return 0
        ends = cluster_ends(self._text, 0, last)
        return ends[-1] if ends else last

    def resume(self, cut: int) -> int:
        """Return the start of the rest after a cut: without the blanks at it, but with its indentation."""
        if self._is_code:
            return cut + self._text.startswith("\n", cut)
        return after_cut(self._text, cut)

    def _code_cuts(self, last: int) -> Iterator[int]:
        """Yield line ends, last first: first those before an unindented line, then any."""
        clean = [found.start() for found in _CLEAN_LINE_END.finditer(self._text, last // 2, last + 2)]
        yield from (cut for cut in reversed(clean) if cut <= last)
        if (cut := self._text.rfind("\n", 1, last + 1)) > 0:
            yield cut

    def _text_cuts(self, last: int) -> Iterator[int]:
        ranks = ranked_cuts(self._open, 0, last // 2, last)
        yield from (cut for cuts in ranks for cut in cuts if self._text[:cut].strip())


def _masked(runs: Sequence[TextRun], longest: int) -> Iterator[str]:
    for text, marks in runs:
        whole = len(text) <= longest and any(mark == CODE or mark.kind == LINK for mark in marks)
        yield "x" * len(text) if whole else text
