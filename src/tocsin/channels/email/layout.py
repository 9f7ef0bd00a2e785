"""Describe the layout of a mail from the mail itself. Source: docs/facts/email.md, "Message"."""

import re
from email import message_from_bytes, policy

from tocsin.channels.layout.html import html_spans
from tocsin.channels.layout.model import (
    LayoutHeader,
    LayoutLook,
    LayoutSection,
    MessageLayout,
    TextSpan,
    text_block,
)

_SHOWN = ("From", "To", "Subject", "Importance", "In-Reply-To")
_BAR = re.compile(r'<div style="border-left:\d+px solid (#[0-9a-fA-F]{6})')


def layout_of(mail: bytes) -> MessageLayout:
    """Return the layout of a mail: the headers that its reader sees, and the body, which is the HTML if it has one."""
    message = message_from_bytes(mail, policy=policy.default)
    body = message.get_body(("html", "plain"))
    text = str(body.get_content()).replace("\r\n", "\n") if body else ""
    headers = tuple(LayoutHeader(name, str(message[name])) for name in _SHOWN if message[name])
    if body is None or body.get_content_subtype() == "plain":
        section = LayoutSection((text_block([TextSpan(text.rstrip("\n"))]),))
    else:
        bar = _BAR.search(text)
        section = LayoutSection((text_block(html_spans(text)),), card=bar is not None, colour=bar[1] if bar else "")
    return MessageLayout(LayoutLook.MAIL, (section,), headers)
