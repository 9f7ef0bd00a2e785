"""Attribute a message for a chat model: its author, and the message that it replies to.

In a group, only this module writes unindented lines. A person's words are indented below a line with the name, and
quotations begin with `>`, so that no author can forge a line of another person.
"""

import re

from tocsin.channels.inbound import Attachment, InboundMessage
from tocsin.core.reading.untrusted import named
from tocsin.core.text.strings import truncate

MAX_NAME = 64
UNNAMED = "A person"
# The description of a file without a name.
NAMELESS = {"photo": "the picture", "voice": "the voice message", "audio": "the recording", "video": "the video"}
# Removed from names, because these characters delimit them.
_MARKS = re.compile(r"[():@>,“”]+")


def attribute_text(message: InboundMessage, text: str) -> str:
    """Return `text` with its author (in groups) and the quotation it replies to; empty if there is neither."""
    quoted = _quoted(message)
    if not text.strip() and message.quote is None:
        return ""
    relation = _relation(message)
    if message.chat_type == "private":
        heading = f"{relation[:1].upper()}{relation[1:]}:" if relation else ""
        return "\n".join(filter(None, [heading, *quoted, "" if not text else f"\n{text}" if heading else text]))
    speaker = _person(message.sender_name, message.sender_username, message.sender_id)
    heading = f"{speaker}, {relation}:" if relation else f"{speaker}:"
    return "\n".join([heading, *quoted, *(f"  {line}".rstrip() for line in text.splitlines())])


def quotation(message: InboundMessage) -> str:
    """Return the quotation that the message replies to, without its own text; empty if it is not a reply."""
    return "\n".join([f"The message is {_relation(message)}:", *quoted]) if (quoted := _quoted(message)) else ""


def describe_file(attachment: Attachment) -> str:
    """Return the description of a file for the chat model."""
    if name := truncate(" ".join(attachment.name.split()), 100):
        return name if attachment.file_id else f"the {name}"
    return NAMELESS.get(attachment.kind, "the file")


def _relation(message: InboundMessage) -> str:
    parts = []
    if quote := message.quote:
        whom = "you" if quote.by_bot else _person(quote.sender_name, quote.sender_username, quote.sender_id)
        parts.append(f"in reply to {whom}")
    if message.forwarded_from:
        parts.append(f"forwarded from {_name(message.forwarded_from)}")
    return ", ".join(parts)


def _quoted(message: InboundMessage) -> list[str]:
    quote = message.quote
    if quote is None:
        return []
    lines = quote.text.splitlines()
    if quote.is_cut:
        lines.append("[…]")
    lines += [f"[{thing}]" for thing in quote.things]
    lines += [f"[{describe_file(attachment)}]" for attachment in quote.attachments]
    return [f"> {line}".rstrip() for line in lines]


def _person(name: str, username: str, sender_id: str | None) -> str:
    """Return a name, made unique by the username or ID that the product assigned."""
    known = f"@{_name(username)}" if username else f"ID {sender_id}" if sender_id else ""
    return f"{_name(name)} ({known})" if known else _name(name)


def _name(name: str) -> str:
    return truncate(named(_MARKS.sub(" ", name)), MAX_NAME) or UNNAMED
