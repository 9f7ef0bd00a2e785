"""Plain-text tables: columns aligned by display width, or name-value pairs."""

import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

JOINER = "\u200d"


class Table:
    """Collects cells in document order; the first row is the heading."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._right: list[bool] = []

    def row(self) -> None:
        self._rows.append([])

    def align(self, *, right: bool) -> None:
        """Set the alignment of the next column."""
        self._right.append(right)

    def cell(self, text: str) -> None:
        self._rows[-1].append(" ".join(text.split()))

    def aligned(self) -> str:
        """Return lines with columns of equal width, and a rule below the heading."""
        columns = list(zip_longest(*self._rows, fillvalue=""))
        widths = [max(map(display_width, column)) for column in columns]
        lines = [self._line(row, widths) for row in self._rows]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join(lines)

    def pairs(self) -> Iterator[str]:
        """Yield the cells of each row as lines `name: value`."""
        names, *rows = self._rows
        for row in rows or [names]:
            pairs = zip(names if rows else [""] * len(row), row, strict=False)
            yield "\n".join(f"{name}: {value}" if name else value for name, value in pairs if value) or "-"

    def _line(self, row: list[str], widths: list[int]) -> str:
        cells = []
        for text, width, right in zip(row, widths, self._right, strict=False):
            blanks = " " * (width - display_width(text))
            cells.append(blanks + text if right else text + blanks)
        return " | ".join(cells).rstrip()


def display_width(text: str) -> int:
    """Return the number of terminal columns of `text`: two for each East Asian character and emoji."""
    if text.isascii():
        return len(text)
    total, joined = 0, False
    for char in text:
        if not joined and unicodedata.category(char) not in {"Mn", "Me", "Cf"}:
            total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        joined = char == JOINER
    return total
