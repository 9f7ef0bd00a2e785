"""Parse Markdown to blocks: CommonMark with tables and strikethrough; raw HTML is ordinary text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tocsin.core.text.markup.dialect import Renderer
from tocsin.core.text.markup.model import BOLD, CODE, ITALIC, LINK, STRIKE, Block, Mark, TextRun, plain_text
from tocsin.core.text.markup.tables import Table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# Longer sources, or sources with more brackets, take too long to parse and are rendered as they are: at most 1 s for
# 100,000.
MAX_SOURCE = 100_000
MAX_BRACKETS = 5_000
MAX_NESTING = 60  # the parser drops deeper nesting, so such a text is not parsed at all
RULE = "──────────"

CanLink = Callable[[str, str], bool]

_STYLES = {"strong": BOLD, "em": ITALIC, "s": STRIKE}
_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?\Z", re.IGNORECASE)
# Up to the characters that may follow an address in a sentence, or end its style.
_REST_OF_ADDRESS = re.compile(r"://[^\s<>\[\]`\\&]*[^\s<>\[\]`\\&.,:;!?*_~'\")]")
_SAFE = re.compile(r"https?://[^\s/?#]|mailto:[^\s@]+@[^\s@]", re.IGNORECASE)


def parse(source: str, dialect: Renderer) -> list[Block]:
    """Parse `source`; return no blocks if it displays nothing or cannot be parsed in reasonable time."""
    tokens = parse_tokens(source)
    return _Reader(dialect).read_all(tokens) if tokens else []


def parse_tokens(source: str) -> "list[Token]":
    """Return the parser's tokens for `source`, or none if parsing would take too long or drop a part of it."""
    if len(source) > MAX_SOURCE or source.count("[") > MAX_BRACKETS:
        return []
    tokens = parser().parse(source)
    return [] if any(token.level >= MAX_NESTING - 1 for token in tokens) else tokens


def is_safe(url: str) -> bool:
    """Whether links to `url` are allowed."""
    return bool(_SAFE.match(url))


@cache
def parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class Parser(MarkdownIt):
        """Makes every address a link, so that a dangerous one is removed later instead of being displayed as source."""

        def validateLink(self, url: str) -> bool:  # noqa: N802  # the parser's own name
            return True

    made = Parser("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    made.inline.ruler.after("text", "address", _bare_address)
    return made.enable(["table", "strikethrough"])


def _bare_address(state: "StateInline", silent: bool) -> bool:
    """Parse a web address unchanged: an underscore or asterisk in it is no emphasis."""
    begin = state.pos
    if not state.src.startswith("://", begin) or not _SCHEME.search(state.src, max(0, begin - 6), begin):
        return False
    rest = _REST_OF_ADDRESS.match(state.src, begin)
    if rest is None:
        return False
    if not silent:
        state.pending += rest[0]
    state.pos = rest.end()
    return True


class _Reader:
    """Processes the tokens of a document and tracks the open lists and quotes.

    The methods without an underscore are called for the tokens with their names.
    """

    def __init__(self, dialect: Renderer) -> None:
        self._dialect = dialect
        self._blocks: list[Block] = []
        self._path: list[str] = []
        self._starts = 0
        self._numbers: list[int | None] = []  # of each open list: its next number; None for bullets
        self._quotes = 0  # number of quotes so far
        self._depth = 0  # number of open quotes
        self._table: Table | None = None
        self._heading = 0
        self._tight = False
        self._apart = False  # an outermost list begins

    def read_all(self, tokens: "Sequence[Token]") -> list[Block]:
        """Return the blocks; none if all of them are empty."""
        for token in tokens:
            if enter := getattr(self, token.type, None):
                enter(token)
        shows = any(block.code or plain_text(block.runs).strip() for block in self._blocks)
        return self._blocks if shows else []

    def _add(self, block: Block) -> None:
        quote = self._quotes if self._depth else 0
        place = Block(quote=quote, path=tuple(self._path), tight=block.tight and not self._apart)
        self._apart = False
        if self._starts and block.code is not None:
            self._blocks.append(replace(place, starts=self._starts))  # the marker gets a line of its own
            self._starts = 0
        place = replace(place, starts=self._starts)
        self._starts = 0
        self._blocks.append(
            replace(place, runs=block.runs, code=block.code, language=block.language, heading=block.heading)
        )

    def inline(self, token: "Token") -> None:
        children = token.children or []
        if self._table is not None:
            self._table.cell(plain_text(parse_runs(children, _never)))
        elif runs := parse_runs(children, self._dialect.can_link, names_images=self._dialect.names_images):
            # In lists and quotes, no product has headings of several sizes.
            heading = 6 if self._heading and (self._path or self._depth) else self._heading
            self._add(Block(runs, heading=heading, tight=self._tight))

    def paragraph_open(self, token: "Token") -> None:
        self._tight = token.hidden

    def heading_open(self, token: "Token") -> None:
        self._heading = int(token.tag[1:])
        self._tight = False

    def heading_close(self, _: "Token") -> None:
        self._heading = 0

    def fence(self, token: "Token") -> None:
        code = token.content.removesuffix("\n")
        if code.strip():
            self._add(Block(code=code, language=(token.info.split() or [""])[0]))

    code_block = fence

    def hr(self, _: "Token") -> None:
        self._add(Block((TextRun(RULE),)))

    def blockquote_open(self, _: "Token") -> None:
        self._quotes += not self._depth
        self._depth += 1

    def blockquote_close(self, _: "Token") -> None:
        self._depth -= 1

    def bullet_list_open(self, _: "Token") -> None:
        self._apart = not self._path
        self._numbers.append(None)

    def ordered_list_open(self, token: "Token") -> None:
        self._apart = not self._path
        start = token.attrGet("start")
        self._numbers.append(1 if start is None else int(start))

    def bullet_list_close(self, _: "Token") -> None:
        self._numbers.pop()

    ordered_list_close = bullet_list_close

    def list_item_open(self, _: "Token") -> None:
        number = self._numbers[-1]
        if number is not None:
            self._numbers[-1] = number + 1
        self._path.append("" if number is None else f"{number}.")
        self._starts += 1

    def list_item_close(self, _: "Token") -> None:
        if self._starts:  # the item is empty
            self._add(Block(tight=True))
        self._path.pop()

    def table_open(self, _: "Token") -> None:
        self._table = Table()

    def tr_open(self, _: "Token") -> None:
        if self._table is not None:
            self._table.row()

    def th_open(self, token: "Token") -> None:
        if self._table is not None:
            self._table.align(right="right" in str(token.attrGet("style") or ""))

    def table_close(self, _: "Token") -> None:
        table, self._table = self._table, None
        if table is not None and self._dialect.aligned_tables:
            self._add(Block(code=table.aligned()))
        elif table is not None:
            for lines in table.pairs():
                self._add(Block((TextRun(lines),)))


def parse_runs(children: "Sequence[Token]", can_link: CanLink, *, names_images: bool = True) -> tuple[TextRun, ...]:
    """Convert inline tokens to runs; a link that is not allowed has its address after it."""
    return _Inline(can_link, names_images=names_images).read(children)


class _Inline:
    """Processes the inline tokens of one block and tracks the open styles."""

    def __init__(self, can_link: CanLink, *, names_images: bool) -> None:
        self._can_link = can_link
        self._names_images = names_images
        self._runs: list[TextRun] = []
        self._open: list[Mark] = []
        self._links: list[int] = []  # index of the first run of each open link

    def read(self, children: "Sequence[Token]") -> tuple[TextRun, ...]:
        """Return the runs, without blanks at both ends."""
        for token in children:
            self._take(token)
        return _trimmed(self._runs)

    def _take(self, token: "Token") -> None:
        kind, _, end = token.type.rpartition("_")
        if token.type in {"softbreak", "hardbreak"}:
            self._add(" " if self._links else "\n")
        elif token.type == "code_inline":
            self._add(token.content, CODE)
        elif token.type == "image":
            self._image(token)
        elif kind == "link":
            self._link(token, opens=end == "open")
        elif kind in _STYLES:
            self._style(_STYLES[kind], opens=end == "open")
        else:
            self._add(token.content)

    def _style(self, mark: Mark, *, opens: bool) -> None:
        if opens:
            self._open.append(mark)
        else:
            self._open.pop()

    def _add(self, text: str, *further: Mark) -> None:
        if not text:
            return
        marks = tuple(dict.fromkeys((*self._open, *further)))
        if self._runs and self._runs[-1].marks == marks and not further:
            text = self._runs.pop().text + text
        self._runs.append(TextRun(text, marks))

    def _link(self, token: "Token", *, opens: bool) -> None:
        if opens:
            self._open.append(Mark(LINK, str(token.attrGet("href") or "")))
            self._links.append(len(self._runs))
            self._runs.append(TextRun("", tuple(self._open)))  # nothing before it may be joined to the label
            return
        mark, begin = self._open.pop(), self._links.pop()
        self._close_link(mark, begin)

    def _close_link(self, mark: Mark, begin: int) -> None:
        label = plain_text(tuple(self._runs[begin:]))
        if not is_safe(mark.url):
            self._unmark(begin, mark)
        elif not label.strip():
            del self._runs[begin:]
            self._add(_address(mark.url))
        elif not self._can_link(mark.url, label):
            self._unmark(begin, mark)
            if label not in {mark.url, _address(mark.url)}:
                self._add(f" ({_address(mark.url)})")

    def _unmark(self, begin: int, mark: Mark) -> None:
        for index in range(begin, len(self._runs)):
            text, marks = self._runs[index]
            self._runs[index] = TextRun(text, tuple(known for known in marks if known != mark))

    def _image(self, token: "Token") -> None:
        url = str(token.attrGet("src") or "")
        label = " ".join(plain_text(parse_runs(token.children or [], _always)).split())
        if self._links or not is_safe(url):
            self._add(label or "image")
            return
        self._open.append(Mark(LINK, url))
        begin = len(self._runs)
        self._runs.append(TextRun(label if self._names_images else "", tuple(dict.fromkeys(self._open))))
        self._open.pop()
        self._close_link(self._runs[begin].marks[-1], begin)


def _address(url: str) -> str:
    return url[7:] if url[:7].lower() == "mailto:" else url


def _never(_url: str, _label: str) -> bool:
    return False


def _always(_url: str, _label: str) -> bool:
    return True


def _trimmed(runs: Sequence[TextRun]) -> tuple[TextRun, ...]:
    """Remove blank runs at both ends, and the outer blanks of the first and the last run unless they are code."""
    shown = [index for index, run in enumerate(runs) if run.text.strip()]
    if not shown:
        return ()
    found = [run for run in runs[shown[0] : shown[-1] + 1] if run.text]
    for index, strip in ((0, str.lstrip), (-1, str.rstrip)):
        if CODE not in found[index].marks:
            found[index] = found[index]._replace(text=strip(found[index].text))
    return tuple(found)
