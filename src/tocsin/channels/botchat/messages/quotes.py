"""Find the message that another one replies to. Source: Bot API, "Message" and "ExternalReplyInfo"."""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.botchat.messages.attachments import read_attachments
from tocsin.channels.botchat.messages.fields import number, record, words
from tocsin.channels.botchat.messages.people import display_name, read_origin, read_sender, text_id
from tocsin.channels.botchat.messages.things import describe_things
from tocsin.channels.inbound import MAX_QUOTE_CHARS, Attachment, Quote


def read_replied_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that this one replies to; the message that opened a topic does not count."""
    answered = record(message.get("reply_to_message"))
    return {} if "forum_topic_created" in answered else answered


def read_quote(message: Mapping[str, Any], bot_id: int) -> Quote | None:
    """Return the quotation in `message`: the part of the text that was selected, else its beginning."""
    chosen = words(record(message.get("quote")).get("text"))
    if answered := read_replied_message(message):
        sender = read_sender(answered)
        return _quote(answered, sender, chosen, by_bot=number(sender.get("id")) == bot_id)
    if elsewhere := record(message.get("external_reply")):
        return _quote(elsewhere, read_origin(elsewhere, "origin"), chosen)
    if story := record(message.get("reply_to_story")):
        chat = record(story.get("chat"))
        return Quote(display_name(chat), attachments=(Attachment("other", "", name="story"),))
    return None


def _quote(quoted: Mapping[str, Any], sender: Mapping[str, Any], chosen: str, *, by_bot: bool = False) -> Quote:
    text = chosen or words(quoted.get("text")) or words(quoted.get("caption"))
    return Quote(
        display_name(sender),
        words(sender.get("username")),
        text_id(sender.get("id")),
        text=text[:MAX_QUOTE_CHARS],
        is_cut=len(text) > MAX_QUOTE_CHARS,
        by_bot=by_bot,
        attachments=read_attachments(quoted),
        things=describe_things(quoted),
    )
