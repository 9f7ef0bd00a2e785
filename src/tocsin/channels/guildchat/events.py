"""Read webhook events, which do not include ordinary channel messages. Source: docs/facts/guildchat.md."""

import re
from datetime import datetime
from hashlib import sha256
from typing import Any

from tocsin.channels.guildchat.interactions import made_at, sender_name, snowflake
from tocsin.channels.inbound import MAX_QUOTE_CHARS, InboundMessage, MessageKind, Quote
from tocsin.core.reading.untrusted import clean_text, named, within


def read_message(envelope: dict[str, Any], body: bytes, *, now: float) -> InboundMessage | None:
    """Return the message in an event, or `None`: most events contain none.

    Events have no ID, and the product repeats an unanswered one, so the digest of the body identifies it.
    """
    data = within(envelope, "event", "data")
    author, own_id = within(data, "author"), snowflake(envelope.get("application_id"))
    chat_id, author_id = snowflake(data.get("channel_id")), snowflake(author.get("id"))
    if not chat_id or not author_id or author_id == own_id or author.get("bot") is True:
        return None
    text, mentioned = _without_mention(clean_text(data.get("content")), own_id)
    if not text and not mentioned:
        return None
    digest, message_id = sha256(body).hexdigest(), snowflake(data.get("id"))
    return InboundMessage(
        channel="guildchat",
        kind=MessageKind.MESSAGE,
        id=message_id or digest,
        dedupe_keys=(f"body:{digest}", f"message:{message_id}") if message_id else (f"body:{digest}",),
        chat_id=chat_id,
        text=text,
        chat_type="channel" if snowflake(data.get("guild_id")) or data.get("lobby_id") else "private",
        sender_id=author_id,
        sender_name=sender_name(author, {}),
        sender_username=named(author.get("username")),
        mentions_bot=mentioned,
        quote=_quote(within(data, "referenced_message"), own_id),
        sent_at=_happened_at(within(envelope, "event").get("timestamp"), made_at(message_id, now)),
        received_at=now,
    )


def _quote(answered: dict[str, Any], own_id: str) -> Quote | None:
    author, text = within(answered, "author"), clean_text(answered.get("content")).strip()
    if not text:
        return None
    author_id = snowflake(author.get("id"))
    return Quote(
        sender_name(author, {}),
        named(author.get("username")),
        author_id or None,
        text=text[:MAX_QUOTE_CHARS],
        is_cut=len(text) > MAX_QUOTE_CHARS,
        by_bot=bool(own_id) and author_id == own_id,
    )


def _without_mention(text: str, own_id: str) -> tuple[str, bool]:
    if not own_id:
        return text.strip(), False
    rest, mentions = re.subn(rf"<@!?{own_id}>[:,]?[ \t]*", "", text)
    return rest.strip(), mentions > 0


def _happened_at(value: object, otherwise: float) -> float:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        return at.timestamp() if at and at.tzinfo else otherwise
    except (ValueError, OverflowError):
        return otherwise
