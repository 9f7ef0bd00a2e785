"""What a preview shows of an answer: rendered as the answer will be and, where one message is too short, its end."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tocsin.channels.botchat.entities import Entities
from tocsin.core.text.markup import Shown, completed, render
from tocsin.core.text.measures import utf16_units
from tocsin.core.text.strings import normalise

MAX_UNITS = 4_000  # where answers are cut: the first part takes the preview's place
# Of a longer answer the two newest pieces are shown, so that there is always something to read on from.
PIECE_UNITS = 1_990
EARLIER = "…\n"
# Up to that many characters are rendered in less time than a thread takes to start.
SHORT = 4_000


class PreviewText(NamedTuple):
    """A text and its entities, as the Bot API takes them."""

    text: str = ""
    entities: tuple[dict[str, Any], ...] = ()


async def preview_of(source: str) -> PreviewText:
    """Return what one message shows of the answer so far."""
    return rendered(source) if len(source) <= SHORT else await asyncio.to_thread(rendered, source)


def rendered(source: str) -> PreviewText:
    """Return the whole answer so far or, if that is too long, its newest 2,000 to 4,000 units."""
    markdown = completed(normalise(source))
    if not markdown.strip():
        return PreviewText()
    whole = render(markdown, Entities(MAX_UNITS))
    if len(whole) <= 1:
        return _joined("", whole)
    return _joined(EARLIER, render(markdown, Entities(PIECE_UNITS))[-2:])


def _joined(head: str, pieces: Iterable[Shown]) -> PreviewText:
    text = head
    entities: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces):
        text += "\n" if number else ""
        entities += _moved(piece.markup, utf16_units(text))
        text += piece.text
    return PreviewText(text, tuple(entities))


def _moved(entities: Iterable[dict[str, Any]], by: int) -> Iterator[dict[str, Any]]:
    return ({**entity, "offset": entity["offset"] + by} for entity in entities)
