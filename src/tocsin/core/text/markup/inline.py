"""Runs as marked text: where marks open and close, and which blanks belong outside of them."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import takewhile
from typing import NamedTuple

from tocsin.core.text.markup.model import CODE, LINK, Mark, TextRun

BORDER = "\u200b"  # invisible, but a border between words


class Role(Enum):
    """The role of a piece of marked text."""

    OPEN = "open"
    CLOSE = "close"
    TEXT = "text"


class Piece(NamedTuple):
    """An opening or closing mark, or a run as text."""

    role: Role
    run: TextRun  # the run of the text
    mark: Mark | None = None


def settle(runs: Iterable[TextRun], *, by_line: bool) -> list[TextRun]:
    """Move blanks at the borders of marks out of them; with `by_line`, also end marks at every line end.

    `** a**` is not bold anywhere, and most products do not format across lines.
    """
    pieces: list[TextRun] = []
    for run in runs:
        if not run.marks or CODE in run.marks:
            pieces.append(run)
            continue
        for number, line in enumerate(run.text.split("\n") if by_line else [run.text]):
            if number:
                pieces.append(TextRun("\n"))
            pieces += _without_edges(line, run.marks)
    return list(_with_blanks_outside(pieces))


def weave(runs: Iterable[TextRun]) -> Iterator[Piece]:
    """Yield texts and, between them, the marks that open and close."""
    opened: tuple[Mark, ...] = ()
    last = TextRun("")
    for run in runs:
        shared = len(_common(opened, run.marks))
        yield from (Piece(Role.CLOSE, last, mark) for mark in reversed(opened[shared:]))
        yield from (Piece(Role.OPEN, run, mark) for mark in run.marks[shared:])
        yield Piece(Role.TEXT, run)
        opened, last = run.marks, run
    yield from (Piece(Role.CLOSE, last, mark) for mark in reversed(opened))


def with_mark(runs: Iterable[TextRun], mark: Mark) -> list[TextRun]:
    """Return the runs with an additional outermost mark."""
    return [TextRun(text, (mark, *(known for known in marks if known != mark))) for text, marks in runs]


def find_link(run: TextRun) -> Mark | None:
    """Return the link that contains the run, or `None`."""
    return next((mark for mark in run.marks if mark.kind == LINK), None)


def _without_edges(text: str, marks: tuple[Mark, ...]) -> Iterator[TextRun]:
    """Yield the blanks at both ends as separate runs."""
    begin = len(text) - len(text.lstrip())
    end = max(begin, len(text.rstrip()))
    for piece in (text[:begin], text[begin:end], text[end:]):
        if piece:
            yield TextRun(piece, marks)


def _with_blanks_outside(pieces: Sequence[TextRun]) -> Iterator[TextRun]:
    """Reduce the marks of each blank piece to those that both neighbours also have."""
    following: list[tuple[Mark, ...]] = []
    after: tuple[Mark, ...] = ()
    for piece in reversed(pieces):
        following.append(after)
        after = after if _is_blank(piece) else piece.marks
    before: tuple[Mark, ...] = ()
    for piece, after in zip(pieces, reversed(following), strict=True):
        if not _is_blank(piece):
            before = piece.marks
            yield piece
        else:
            yield TextRun(piece.text, _common(_common(before, after), piece.marks))


def _is_blank(run: TextRun) -> bool:
    return bool(run.marks) and CODE not in run.marks and run.text.isspace()


def _common(one: tuple[Mark, ...], other: tuple[Mark, ...]) -> tuple[Mark, ...]:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(mark for mark, _ in pairs)
