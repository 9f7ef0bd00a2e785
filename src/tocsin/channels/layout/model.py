"""The description of a message's layout, in terms that no product owns."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any


class LayoutLook(StrEnum):
    """The frame in which a product shows a message."""

    TEXT = "text"
    CHAT = "chat"
    POST = "post"
    CARD = "card"
    MAIL = "mail"


class BlockKind(StrEnum):
    """The kind of a block of a message."""

    TEXT = "text"
    TITLE = "title"
    BUTTONS = "buttons"


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A piece of text with one formatting."""

    text: str
    styles: Annotated[
        tuple[str, ...], "Of: bold, italic, underline, strike, spoiler, code, pre, quote, heading, mention."
    ] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class LayoutButton:
    """A button of a message; one without an address calls back."""

    label: str
    url: str = ""
    style: Annotated[str, "primary, success or danger; empty is the product's default."] = ""


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    """A title, a text, or a row of buttons."""

    kind: BlockKind
    spans: tuple[TextSpan, ...] = ()
    buttons: tuple[LayoutButton, ...] = ()


@dataclass(frozen=True, slots=True)
class LayoutSection:
    """Blocks that stand together; those of a card have a bar of its colour."""

    blocks: tuple[LayoutBlock, ...]
    card: bool = False
    colour: Annotated[str, "Of the bar, as #RRGGBB; empty is the product's default."] = ""


@dataclass(frozen=True, slots=True)
class LayoutHeader:
    """A line above a message."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class MessageLayout:
    """How a product shows one message."""

    look: LayoutLook
    sections: tuple[LayoutSection, ...]
    headers: Annotated[tuple[LayoutHeader, ...], "The headers of a mail that its reader sees."] = ()
    silent: Annotated[bool, "It makes no sound."] = False


def text_block(spans: Iterable[TextSpan]) -> LayoutBlock:
    """Return a block of text; neighbours with one formatting become one span."""
    joined: list[TextSpan] = []
    for span in spans:
        last = joined[-1] if joined else TextSpan("")
        # Code is a block of its own, so that the line end after it is not shown.
        text = span.text.removeprefix("\n") if "pre" in last.styles else span.text
        if joined and (last.styles, last.url) == (span.styles, span.url) and "pre" not in span.styles:
            joined[-1] = TextSpan(last.text + text, span.styles, span.url)
        else:
            joined.append(TextSpan(text, span.styles, span.url))
    return LayoutBlock(BlockKind.TEXT, tuple(each for span in joined for each in _without_line_end(span)))


def _without_line_end(span: TextSpan) -> Iterator[TextSpan]:
    """Move the line end of a quote or heading out of it, because it is drawn as a box."""
    if span.text.endswith("\n") and {"quote", "heading"} & set(span.styles):
        yield TextSpan(span.text.rstrip("\n"), span.styles, span.url)
        yield TextSpan("\n")
    else:
        yield span


def title_block(text: str, url: str = "") -> LayoutBlock:
    """Return a title."""
    return LayoutBlock(BlockKind.TITLE, (TextSpan(text, url=url),))


def button_block(buttons: Iterable[LayoutButton]) -> LayoutBlock:
    """Return a row of buttons."""
    return LayoutBlock(BlockKind.BUTTONS, buttons=tuple(buttons))


def plain_layout(text: str, look: LayoutLook = LayoutLook.TEXT) -> MessageLayout:
    """Return the layout of a text without formatting."""
    return MessageLayout(look, (LayoutSection((text_block([TextSpan(text)]),)),))


def ranged_spans(text: str, ranges: Iterable[Mapping[str, Any]]) -> Iterator[TextSpan]:
    """Yield the spans of a text with `ranges` of `offset` and `length` in UTF-16 units, which may overlap.

    The keys `style` and `url` of a range say what it does.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    found = [(2 * each["offset"], 2 * (each["offset"] + each["length"]), each) for each in ranges]
    edges = sorted({0, len(units), *(edge for begin, end, _ in found for edge in (begin, end))})
    for begin, end in pairwise(edges):
        inside = [each for first, last, each in found if first <= begin and end <= last]
        piece = units[begin:end].decode("utf-16-le", "surrogatepass")
        styles = tuple(dict.fromkeys(each["style"] for each in inside if each.get("style")))
        yield TextSpan(piece, styles, next((each["url"] for each in inside if each.get("url")), ""))
