"""Render the preview of an unfinished answer: formatted like the answer, and reduced to its end if it is too long."""

from collections.abc import Iterable, Iterator
from typing import Any

from tocsin.channels.botchat.entities import Entities
from tocsin.core.text.markup import Shown, close_markup, render
from tocsin.core.text.measures import utf16_units
from tocsin.core.text.strings import normalise

MAX_UNITS = 4_000  # answers are split here: the first part replaces the preview
# Of a longer answer, show the two newest pieces, so that there is always some context to read.
PIECE_UNITS = 1_990
EARLIER = "…\n"


def render_preview(source: str) -> Shown:
    """Render the whole answer so far or, if that is too long, its newest 2,000 to 4,000 UTF-16 units."""
    markdown = close_markup(normalise(source))
    if not markdown.strip():
        return Shown("")
    whole = render(markdown, Entities(MAX_UNITS))
    if len(whole) <= 1:
        return _join("", whole)
    return _join(EARLIER, render(markdown, Entities(PIECE_UNITS))[-2:])


def _join(head: str, pieces: Iterable[Shown]) -> Shown:
    text = head
    entities: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces):
        text += "\n" if number else ""
        entities += _shift(piece.markup, utf16_units(text))
        text += piece.text
    return Shown(text, tuple(entities))


def _shift(entities: Iterable[dict[str, Any]], by: int) -> Iterator[dict[str, Any]]:
    return ({**entity, "offset": entity["offset"] + by} for entity in entities)
