"""Convert an update of the Bot API into an inbound message. Source: docs/facts/botchat.md, "Messages".

These functions neither raise nor wait: an update that is malformed, unknown or not for the bot becomes `None`.
"""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.botchat.messages.addressing import BotIdentity, ParsedMessage, needs_bot_name, parse_text
from tocsin.channels.botchat.messages.attachments import read_attachments
from tocsin.channels.botchat.messages.fields import identifier, number, record, time_s, words
from tocsin.channels.botchat.messages.people import LONGEST_NAME, display_name, read_origin, read_sender, text_id
from tocsin.channels.botchat.messages.quotes import read_quote, read_replied_message
from tocsin.channels.botchat.messages.things import describe_things, is_service
from tocsin.channels.inbound import InboundMessage, MessageKind

CHANNEL = "botchat"
# The requested kinds. The last one reports that the bot was added or blocked, and needs no answer.
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
GENERAL_TOPIC = 1  # its messages are sent without a thread
CHAT_TYPES = {"private": "private", "group": "group", "supergroup": "group", "channel": "channel"}


def read_update(update: Mapping[str, Any], bot: BotIdentity, received_at: float) -> InboundMessage | None:
    """Return the event caused by a person, or `None`; `received_at` is Unix time."""
    if query := record(update.get("callback_query")):
        return _callback(update, query, bot, received_at)
    if message := record(update.get("message")):
        return _message(update, message, bot, received_at, edited=False)
    return _message(update, record(update.get("edited_message")), bot, received_at, edited=True)


def needs_username(update: Mapping[str, Any]) -> bool:
    """Whether the bot's user name is needed to read the update."""
    return any(needs_bot_name(record(update.get(field))) for field in ("message", "edited_message"))


def moved_chat(update: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the old and the new ID of a group that became a supergroup, if the update reports that."""
    message = record(update.get("message"))
    here = number(record(message.get("chat")).get("id"))
    if not here:
        return None
    if new := number(message.get("migrate_to_chat_id")):
        return str(here), str(new)
    if old := number(message.get("migrate_from_chat_id")):
        return str(old), str(here)
    return None


def _message(
    update: Mapping[str, Any], message: dict[str, Any], bot: BotIdentity, received_at: float, *, edited: bool
) -> InboundMessage | None:
    chat, message_id = record(message.get("chat")), number(message.get("message_id"))
    chat_id = number(chat.get("id"))
    said, attachments = parse_text(message, bot), read_attachments(message)
    if not chat_id or not message_id or said.to_other_bot or not _is_by_person(message, bot):
        return None
    things = () if edited else describe_things(message)  # a live location is reported once
    # Accept a private message of an unknown kind, so that it is not lost silently.
    told = said.text or attachments or things or said.to_bot or (_chat_type(chat) == "private" and not edited)
    if not told or is_service(message):
        return None
    sender = read_sender(message)
    answered = read_replied_message(message)
    changed = number(message.get("edit_date")) or 0
    return InboundMessage(
        CHANNEL,
        _kind(said, edited=edited),
        str(message_id),
        (*_update_key(update, bot), f"message:{bot.id}:{chat_id}:{message_id}:{changed}"),
        str(chat_id),
        text=said.text,
        thread_id=_thread(message),
        chat_type=_chat_type(chat),
        chat_title=words(chat.get("title"), LONGEST_NAME),
        sender_id=text_id(sender.get("id")),
        sender_name=display_name(sender),
        sender_username=words(sender.get("username")),
        sender_language=words(record(message.get("from")).get("language_code")),
        command=None if edited else said.command,
        args="" if edited else said.args,
        reply_to_id=text_id(answered.get("message_id")),
        mentions_bot=said.to_bot or number(record(answered.get("from")).get("id")) == bot.id,
        attachments=attachments,
        things=things,
        quote=read_quote(message, bot.id),
        forwarded_from=display_name(read_origin(message, "forward_origin")),
        album_id=identifier(message.get("media_group_id")) or None,
        sent_at=time_s(message.get("edit_date") if edited else message.get("date")) or received_at,
        received_at=received_at,
    )


def _callback(
    update: Mapping[str, Any], query: dict[str, Any], bot: BotIdentity, received_at: float
) -> InboundMessage | None:
    """Return the press of a button; if its message is missing, use the private chat of the person who pressed it."""
    query_id, sender = identifier(query.get("id")), record(query.get("from"))
    message = record(query.get("message"))
    chat = record(message.get("chat")) or {"id": sender.get("id"), "type": "private"}
    chat_id = number(chat.get("id"))
    if not query_id or not chat_id or sender.get("is_bot") is True:
        return None
    data = query.get("data")
    return InboundMessage(
        CHANNEL,
        MessageKind.CALLBACK,
        query_id,
        (*_update_key(update, bot), f"callback:{bot.id}:{query_id}"),
        str(chat_id),
        thread_id=_thread(message),
        chat_type=_chat_type(chat),
        chat_title=words(chat.get("title"), LONGEST_NAME),
        sender_id=text_id(sender.get("id")),
        sender_name=display_name(sender),
        callback_id=query_id,
        callback_data=words(data, LONGEST_NAME) if isinstance(data, str) else None,
        reply_to_id=text_id(message.get("message_id")),
        mentions_bot=True,  # the button belongs to the bot
        sent_at=received_at,  # the API does not report when it was pressed
        received_at=received_at,
    )


def _update_key(update: Mapping[str, Any], bot: BotIdentity) -> tuple[str, ...]:
    update_id = number(update.get("update_id"))
    return () if update_id is None else (f"update:{bot.id}:{update_id}",)


def _kind(said: ParsedMessage, *, edited: bool) -> MessageKind:
    if edited:  # an edited command does not run again
        return MessageKind.EDIT
    return MessageKind.COMMAND if said.command else MessageKind.MESSAGE


def _is_by_person(message: dict[str, Any], bot: BotIdentity) -> bool:
    """Whether a person wrote the message, and not through the bot itself: answering bots could cause a loop."""
    if message.get("is_automatic_forward") is True:  # from the linked channel, possibly posted there by the bot
        return False
    if number(record(message.get("via_bot")).get("id")) == bot.id:
        return False
    sender = record(message.get("from"))
    # Messages in the name of a chat (anonymous administrators) are attributed to one of the provider's own bots.
    return bool(record(message.get("sender_chat"))) or (
        sender.get("is_bot") is not True and number(sender.get("id")) != bot.id
    )


def _thread(message: dict[str, Any]) -> str | None:
    thread = number(message.get("message_thread_id"))
    is_topic = message.get("is_topic_message") is True
    return str(thread) if is_topic and thread and thread > GENERAL_TOPIC else None


def _chat_type(chat: dict[str, Any]) -> str:
    # Private chats have positive IDs, all other chats negative ones.
    assumed = "private" if (number(chat.get("id")) or 0) > 0 else "group"
    return CHAT_TYPES.get(words(chat.get("type")), assumed)
