"""Find the author of a message and format names. Source: Bot API, "Message" and "MessageOrigin"."""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.botchat.messages.fields import number, record, words

LONGEST_NAME = 255


def read_sender(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the person, or the chat in whose name the person wrote."""
    sender = record(message.get("sender_chat")) or record(message.get("from"))
    chat = record(message.get("chat"))
    return chat if not sender and chat.get("type") == "private" else sender


def read_origin(message: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return the author of a forwarded message, or of a message in another chat: a person, a chat or just a name."""
    origin = record(message.get(field))
    who = record(origin.get("sender_user")) or record(origin.get("sender_chat")) or record(origin.get("chat"))
    return who or {"first_name": origin.get("sender_user_name")}


def display_name(who: Mapping[str, Any]) -> str:
    """Return the display name of a person or a chat."""
    first, last, title, username = (
        words(who.get(field), LONGEST_NAME).strip() for field in ("first_name", "last_name", "title", "username")
    )
    return f"{first} {last}".strip() or title or username


def text_id(value: object) -> str | None:
    """Return a number that can be an ID as text, else `None`."""
    found = number(value)
    return str(found) if found else None
