"""Extract the text of .xlsx files: one line per row of the first sheets, with tabs between cells."""

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import NamedTuple

from tocsin.providers.files.office_package import Attributes, EnoughError, Package, Scanner, Words, relation_id

MAX_GAP = 50  # the longest run of empty cells that is shown
# The formats of dates and times that are predefined. Source: ECMA-376, part 1, 18.8.30.
DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
# The parts of a format that are ignored: quoted and escaped text, alignment, colours and conditions.
_MAX_FORMAT = 1_000  # characters
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_LETTERS = re.compile(r"[A-Za-z]{1,3}")


class Cell(NamedTuple):
    """A cell that is not empty."""

    row: int
    column: int
    kind: str  # s: `value` is the number of a shared string; empty: a number
    style: int
    value: str


def read_xlsx(package: Package, words: Words, max_pages: int) -> None:
    """Collect the text of the first sheets; dates are formatted, and formulas replaced by their last results."""
    main = package.main_part()
    relations, workbook = package.relations(main), _Workbook()
    package.scan(main, workbook)
    words.more = len(workbook.sheets) > max_pages
    pages: list[tuple[str, list[Cell]]] = []
    left = words.max_chars  # every cell takes at least one character
    for name, sheet in workbook.sheets[:max_pages]:
        cells = _Sheet(left)
        words.more |= not _complete(package, relations[sheet][1], cells)
        pages.append((name, cells.found))
        left -= len(cells.found)
        if left <= 0:
            break
    parts = {kind.rpartition("/")[2]: part for kind, part in relations.values()}
    wanted = {int(cell.value) for _, page in pages for cell in page if cell.kind == "s" and cell.value.isdecimal()}
    strings, styles = _Strings(wanted, words.max_chars), _Styles()
    if wanted and "sharedStrings" in parts:
        _complete(package, parts["sharedStrings"], strings)
    if "styles" in parts:
        package.scan(parts["styles"], styles)
    epoch = datetime(1904, 1, 1) if workbook.from_1904 else datetime(1899, 12, 30)  # noqa: DTZ001  # a cell has no zone
    for name, page in pages:
        if page:
            _write(words, name, page, lambda cell: _format_cell(cell, strings.found, styles.dates, epoch))


def _complete(package: Package, part: str, scanner: Scanner) -> bool:
    """Scan a part; return whether its end was reached."""
    try:
        package.scan(part, scanner)
    except EnoughError:
        return False
    return True


def _write(words: Words, name: str, cells: list[Cell], shown: Callable[[Cell], str]) -> None:
    words.add(f"[Sheet {name}]")
    row, column = -1, 0
    for cell in cells:
        if cell.row != row:
            words.add("\n")
            row, column = cell.row, 0
        words.add("\t" * min(max(cell.column - column, 0), MAX_GAP))
        column = cell.column
        words.add(shown(cell))
    words.add("\n\n")


def _format_cell(cell: Cell, strings: dict[int, str], dates: set[int], epoch: datetime) -> str:
    if cell.kind == "s":
        return strings.get(int(cell.value), "") if cell.value.isdecimal() else ""
    if cell.kind == "b":
        return "FALSE" if cell.value == "0" else "TRUE"
    if cell.kind in {"", "n"} and cell.style in dates:
        return _format_date(cell.value, epoch)
    return cell.value


def _format_date(value: str, epoch: datetime) -> str:
    try:
        days = float(value)
        at = epoch + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if at.time() == time():
        return at.date().isoformat()
    timespec = "seconds" if at.second else "minutes"
    return at.time().isoformat(timespec) if 0 <= days < 1 else at.isoformat(" ", timespec)


class _Workbook(Scanner):
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []  # name and relation
        self.from_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            self.sheets.append((" ".join(attributes.get("name", "").split())[:100], relation_id(attributes)))
        elif name == "workbookPr":
            self.from_1904 = attributes.get("date1904") in {"1", "true"}


class _Sheet(Scanner):
    def __init__(self, most: int) -> None:
        self.found: list[Cell] = []
        self._most = most
        self._row = self._column = 0
        self._kind, self._style = "", 0
        self._value = ""
        self._reading = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            self._row, self._column = self._row + 1, 0
        elif name == "c":
            self._column = _column(attributes.get("r", "")) or self._column + 1
            self._kind, style = attributes.get("t", ""), attributes.get("s", "")
            self._style = int(style) if style.isdecimal() else -1
            self._value = ""
        self._reading = name in {"v", "t"}

    def end(self, name: str) -> None:
        self._reading = False
        if name == "c" and self._value.strip():
            self.found.append(Cell(self._row, self._column - 1, self._kind, self._style, self._value.strip()))
            if len(self.found) >= self._most:
                raise EnoughError

    def text(self, text: str) -> None:
        if self._reading and len(self._value) < self._most:
            self._value += text


class _Strings(Scanner):
    """The shared strings that are needed; others are skipped."""

    def __init__(self, wanted: set[int], most: int) -> None:
        self.found: dict[int, str] = {}
        self._wanted = wanted
        self._last = max(wanted, default=-1)
        self._most = most
        self._number = -1
        self._reading = self._phonetic = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "si":
            self._number += 1
            if self._number > self._last:
                raise EnoughError
        self._phonetic = self._phonetic or name == "rPh"
        self._reading = name == "t" and not self._phonetic and self._number in self._wanted

    def end(self, name: str) -> None:
        self._reading = False
        self._phonetic = self._phonetic and name != "rPh"

    def text(self, text: str) -> None:
        if self._reading and len(self.found.get(self._number, "")) < self._most:
            self.found[self._number] = " ".join((self.found.get(self._number, "") + text).split("\n"))


class _Styles(Scanner):
    """The styles of cells that format a number as a date."""

    def __init__(self) -> None:
        self.dates: set[int] = set()
        self._formats = set(DATE_FORMATS)
        self._styles = 0
        self._in_cells = False

    def start(self, name: str, attributes: Attributes) -> None:
        told = attributes.get("numFmtId", "")
        number = int(told) if told.isdecimal() else 0
        if name == "numFmt" and _shows_date(attributes.get("formatCode", "")[:_MAX_FORMAT]):
            self._formats.add(number)
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            if number in self._formats:
                self.dates.add(self._styles)
            self._styles += 1

    def end(self, name: str) -> None:
        self._in_cells = self._in_cells and name != "cellXfs"


def _column(reference: str) -> int:
    """Return the number of a column, starting at 1; 0 if the reference contains none."""
    number = 0
    if found := _LETTERS.match(reference):
        for letter in found[0].upper():
            number = number * 26 + ord(letter) - 64
    return number


def _shows_date(code: str) -> bool:
    return re.search("[ymdhs]", _NOT_FORMAT.sub("", code).lower()) is not None
