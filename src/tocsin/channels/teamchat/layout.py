"""Describe the layout of a message from the body of `chat.postMessage`. Source: docs/facts/teamchat.md, "Blocks"."""

import re
from collections.abc import Mapping
from typing import Any

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
from tocsin.channels.teamchat.wording import plain_text

_STYLES = {"primary": "primary", "danger": "danger"}
_RULES = MarkRules(
    {"*": "bold", "_": "italic", "~": "strike"},
    lines=((re.compile(r"(?:&gt;|>) ?"), "quote"),),
    references=(
        (
            re.compile(r"<((?:https?|mailto|tel):[^<>|]*)(?:\|([^<>]*))?>"),
            lambda found: TextSpan(plain_text(found[2] or found[1]), url=plain_text(found[1])),
        ),
        (re.compile(r"<[@#!][^<>]*>"), lambda found: TextSpan(plain_text(found[0]), ("mention",))),
    ),
    decode=plain_text,
)


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a message: its blocks, else its text."""
    sections = [LayoutSection(tuple(map(_block, body["blocks"])))] if body.get("blocks") else []
    for attachment in body.get("attachments", ()):
        blocks = tuple(map(_block, attachment["blocks"]))
        sections.append(LayoutSection(blocks, card=True, colour=attachment.get("color", "")))
    if not sections:
        sections.append(LayoutSection((_text(body["text"], is_marked=body.get("mrkdwn", True)),)))
    return MessageLayout(LayoutLook.POST, tuple(sections))


def _block(block: Mapping[str, Any]) -> LayoutBlock:
    if block["type"] == "actions":
        return button_block(map(_button, block["elements"]))
    if block["type"] == "header":
        return title_block(block["text"]["text"])
    shown = block["text"]
    return _text(shown["text"], is_marked=True) if shown["type"] == "mrkdwn" else text_block([TextSpan(shown["text"])])


def _text(text: str, *, is_marked: bool) -> LayoutBlock:
    return text_block(marked_spans(text, _RULES) if is_marked else [TextSpan(plain_text(text))])


def _button(element: Mapping[str, Any]) -> LayoutButton:
    return LayoutButton(element["text"]["text"], element.get("url", ""), _STYLES.get(element.get("style", ""), ""))
