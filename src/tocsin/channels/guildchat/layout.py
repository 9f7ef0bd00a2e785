"""Describe the layout of a message from the body of a new message. Source: docs/facts/guildchat.md, "Formatting"."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tocsin.channels.guildchat.embeds import SUPPRESS_NOTIFICATIONS
from tocsin.channels.layout.marks import MarkRules, marked_spans
from tocsin.channels.layout.model import (
    LayoutBlock,
    LayoutButton,
    LayoutLook,
    LayoutSection,
    MessageLayout,
    TextSpan,
    button_block,
    text_block,
    title_block,
)

_STYLES = {1: "primary", 3: "success", 4: "danger"}
_RULES = MarkRules(
    {"**": "bold", "__": "underline", "~~": "strike", "||": "spoiler", "*": "italic", "_": "italic"},
    lines=((re.compile(r">{1,3} "), "quote"), (re.compile(r"#{1,3} "), "heading")),
    references=(
        (re.compile(r"\[([^\[\]]+)\]\(<?(https?://[^()\s>]+)>?\)"), lambda found: TextSpan(found[1], url=found[2])),
        (re.compile(r"https?://[^\s<>]+"), lambda found: TextSpan(found[0], url=found[0])),
        (re.compile(r"<(@[&!]?\d+)>|@everyone|@here"), lambda found: TextSpan(found[1] or found[0], ("mention",))),
    ),
    escapes=True,
)


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a message: its text, its embeds and its buttons."""
    sections = [LayoutSection((_text(body["content"]),))] if body["content"] else []
    for embed in body.get("embeds", ()):
        shade = embed.get("color")
        sections.append(LayoutSection(tuple(_embed(embed)), card=True, colour="" if shade is None else f"#{shade:06X}"))
    rows = [button_block(map(_button, row["components"])) for row in body.get("components", ())]
    if rows:
        sections.append(LayoutSection(tuple(rows)))
    silent = bool(body["flags"] & SUPPRESS_NOTIFICATIONS)
    return MessageLayout(LayoutLook.CARD, tuple(sections), silent=silent)


def _embed(embed: Mapping[str, Any]) -> Iterator[LayoutBlock]:
    if title := embed.get("title"):
        yield title_block(title, embed.get("url", ""))
    if text := embed.get("description"):
        yield _text(text)


def _text(text: str) -> LayoutBlock:
    return text_block(marked_spans(text, _RULES))


def _button(component: Mapping[str, Any]) -> LayoutButton:
    return LayoutButton(component["label"], component.get("url", ""), _STYLES.get(component.get("style", 0), ""))
