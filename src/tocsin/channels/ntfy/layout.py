"""Describe the layout of a message from the headers and the text that are published."""

import json
from collections.abc import Mapping
from email.header import decode_header, make_header

from tocsin.channels.layout.model import (
    LayoutButton,
    LayoutLook,
    LayoutSection,
    MessageLayout,
    TextSpan,
    button_block,
    text_block,
    title_block,
)

_QUIET = {"1", "2"}  # priorities without a sound


def layout_of(body: Mapping[str, str]) -> MessageLayout:
    """Return the layout of a message: its title, which a tap opens, its text and its buttons."""
    headers = {name: str(make_header(decode_header(value))) for name, value in body.items() if name != "text"}
    title, click = headers.get("X-Title", ""), headers.get("X-Click", "")
    blocks = [title_block(title, click)] if title else []
    blocks.append(text_block([TextSpan(body["text"], url="" if title else click)]))
    actions = json.loads(headers.get("X-Actions", "[]"))
    blocks += [button_block(LayoutButton(each["label"], each["url"]) for each in actions)] if actions else []
    silent = headers.get("X-Priority", "") in _QUIET
    return MessageLayout(LayoutLook.POST, (LayoutSection(tuple(blocks)),), silent=silent)
