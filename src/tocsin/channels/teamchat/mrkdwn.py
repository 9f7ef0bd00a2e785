"""Render Markdown as mrkdwn. Source: docs/facts/teamchat.md and docs/facts/markdown.md."""

from collections.abc import Iterable

from tocsin.channels.teamchat.wording import escape
from tocsin.core.text.markup import BOLD, CODE, ITALIC, LINK, STRIKE, Block, Renderer, Shown, TextRun
from tocsin.core.text.markup.inline import BORDER, Piece, Role, find_link, settle, weave, with_mark
from tocsin.core.text.markup.model import plain_text

FENCE = "```"
_MARKS = {BOLD.kind: "*", ITALIC.kind: "_", STRIKE.kind: "~", CODE.kind: "`"}
# The neighbours next to which a mark acts; elsewhere an invisible border is inserted.
_BEFORE = frozenset(" \n\u00a0([{\"'-" + BORDER)
_AFTER = frozenset(" \n\u00a0)]}\"'-.,;:!?" + BORDER)


class Mrkdwn(Renderer):
    """Bold, italic, strike, code, links and quotes; mrkdwn cannot escape marks in a text."""

    def can_link(self, url: str, label: str) -> bool:
        """Accept an address that leaves room for its label and differs from it."""
        return label != url and len(_address(url)) <= (self.limit or 0) // 4

    def show(self, block: Block) -> Shown:
        """Return text with its marks, which act within one line only."""
        if block.code is not None:
            # Code cannot contain escapes, so a border separates marks that would end it.
            code = escape(block.code.replace(FENCE, f"``{BORDER}`"))
            return Shown(f"{FENCE}\n{code}\n{FENCE}")
        runs = with_mark(block.runs, BOLD) if block.heading else block.runs
        return Shown(self.laid_out(block, _join(settle(map(_simplify, runs), by_line=True))))


class LiteralMrkdwn(Renderer):
    """Text sent with `mrkdwn: false`: only the three special characters are escaped."""

    def show(self, block: Block) -> Shown:
        """Return the escaped text."""
        return Shown(escape(plain_text(block.runs)))


def _simplify(run: TextRun) -> TextRun:
    """Return the run with a valid combination of marks: none inside a link, and no code with a backtick."""
    if link := find_link(run):
        return run._replace(marks=run.marks[: run.marks.index(link) + 1])
    return run._replace(marks=tuple(mark for mark in run.marks if mark != CODE)) if "`" in run.text else run


def _join(runs: Iterable[TextRun]) -> str:
    out: list[str] = []
    before: Piece | None = None
    for piece in weave(runs):
        text = _render_piece(piece)
        if out and _needs_border(before, piece, out[-1][-1:], text[:1]):
            out.append(BORDER)
        if text:
            out.append(text)
        before = piece
    return "".join(out)


def _render_piece(piece: Piece) -> str:
    if piece.mark is None:
        return escape(piece.run.text)
    if piece.mark.kind != LINK:
        return _MARKS[piece.mark.kind]
    return f"<{_address(piece.mark.url)}|" if piece.role is Role.OPEN else ">"


def _needs_border(before: Piece | None, piece: Piece, last: str, first: str) -> bool:
    if before is None or piece.role is Role.CLOSE:
        return False
    if _is_style(before) and before.role is Role.CLOSE:
        return first not in _AFTER
    return _is_style(piece) and before.role is not Role.OPEN and last not in _BEFORE


def _is_style(piece: Piece) -> bool:
    return piece.mark is not None and piece.mark.kind != LINK


def _address(url: str) -> str:
    """Return the address escaped for a link."""
    return escape(url.replace("|", "%7C").replace("<", "%3C").replace(">", "%3E"))
