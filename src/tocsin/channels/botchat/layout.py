"""Describe the layout of a message from the parameters of `sendMessage`. Source: docs/facts/botchat.md."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tocsin.channels.layout.html import html_spans
from tocsin.channels.layout.marks import MarkRules, Reference, marked_spans
from tocsin.channels.layout.model import (
    LayoutBlock,
    LayoutButton,
    LayoutLook,
    LayoutSection,
    MessageLayout,
    TextSpan,
    button_block,
    ranged_spans,
    text_block,
)

_NAMES = {"strikethrough": "strike", "blockquote": "quote", "expandable_blockquote": "quote", "text_mention": "mention"}
_LINK: Reference = (re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)"), lambda found: TextSpan(found[1], url=found[2]))
_MENTION: Reference = (re.compile(r"@[A-Za-z]\w{4,31}\b"), lambda found: TextSpan(found[0], ("mention",)))
_RULES = {
    "Markdown": MarkRules({"*": "bold", "_": "italic"}, references=(_LINK, _MENTION), escapes=True),
    "MarkdownV2": MarkRules(
        {"__": "underline", "||": "spoiler", "*": "bold", "_": "italic", "~": "strike"},
        lines=((re.compile(r">"), "quote"),),
        references=(_LINK, _MENTION),
        escapes=True,
    ),
}


def layout_of(parameters: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a message: its text, and its keyboard below."""
    text, mode = parameters.get("text") or parameters.get("caption") or "", parameters.get("parse_mode")
    ranges = parameters.get("entities") or parameters.get("caption_entities") or ()
    sections = [LayoutSection((text_block(_spans(text, mode, ranges)),))]
    markup = parameters.get("reply_markup") or {}
    if rows := [_row(row) for row in markup.get("inline_keyboard", ())]:
        sections.append(LayoutSection(tuple(rows)))
    silent = bool(parameters.get("disable_notification"))
    return MessageLayout(LayoutLook.CHAT, tuple(sections), silent=silent)


def _spans(text: str, mode: str | None, entities: Iterable[Mapping[str, Any]]) -> Iterable[TextSpan]:
    if mode == "HTML":
        return html_spans(text, is_page=False)
    if mode in _RULES:
        return marked_spans(text, _RULES[mode])
    return ranged_spans(text, _ranges(text, entities))


def _ranges(text: str, entities: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in entities:
        kind, url = each["type"], each.get("url", "")
        if url.startswith("tg://"):
            kind, url = "mention", ""
        yield {**each, "style": "" if kind == "text_link" else _NAMES.get(kind, kind), "url": url}
    for found in _MENTION[0].finditer(text):  # the server makes these links by itself
        before, name = (len(piece.encode("utf-16-le")) // 2 for piece in (text[: found.start()], found[0]))
        yield {"offset": before, "length": name, "style": "mention"}


def _row(buttons: Iterable[Mapping[str, Any]]) -> LayoutBlock:
    return button_block(LayoutButton(each["text"], each.get("url", "")) for each in buttons)
