"""Read what the Events API delivers. Source: docs/facts/teamchat.md."""

import re
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from tocsin.channels.inbound import MAX_QUOTE_CHARS, Attachment, InboundMessage, MessageKind, Quote, attachment_kind
from tocsin.channels.teamchat.wording import plain_text, without_mention
from tocsin.core.reading.untrusted import MAX_TEXT_CHARS, clean_text, identifier, named, objects, whole, within

_TIMESTAMP = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")  # names a message within its channel

_CHAT_ID = re.compile(r"[A-Z][A-Z0-9]{1,63}")
_COMMAND = re.compile(r"/([a-z0-9][a-z0-9_-]{0,31})(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_CHAT_TYPES = {"im": "private", "app_home": "private", "mpim": "group", "group": "group", "channel": "channel"}
_BY_PREFIX = {"D": "private", "G": "group", "U": "private", "W": "private"}
# All other subtypes report a change of a message, not a new one.
_NEW_MESSAGES = (None, "file_share", "thread_broadcast", "me_message")
_MAX_THREADS = 10_000
_MAX_FILES = 20


class Threads:
    """The last 10,000 threads with the bot, because messages do not say who takes part in their thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def join(self, chat_id: str, thread_id: str) -> None:
        """Record that the bot was mentioned in the thread, or wrote in it."""
        self._known[chat_id, thread_id] = None
        self._known.move_to_end((chat_id, thread_id))
        if len(self._known) > _MAX_THREADS:
            self._known.popitem(last=False)

    def __contains__(self, thread: tuple[str, str | None]) -> bool:
        return thread in self._known


def read_message(
    envelope: dict[str, Any], threads: Threads, own_ids: Collection[str], *, now: float, hear_bots: bool
) -> InboundMessage | None:
    """Return the message in an `event_callback`, or `None` if it is not for this program.

    `own_ids` are the bot's user ID and, if known, its bot ID.
    """
    event = within(envelope, "event")
    chat_id, ts = find_chat_id(event.get("channel")), timestamp(event.get("ts"))
    if event.get("type") not in ("message", "app_mention") or not chat_id or not ts:
        return None
    thread_id = timestamp(event.get("thread_ts")) or None
    if _is_own(event, envelope, own_ids):
        if thread_id:
            threads.join(chat_id, thread_id)
        return None
    from_bot = _is_from_bot(event)
    accepted = (*_NEW_MESSAGES, "bot_message") if hear_bots else _NEW_MESSAGES
    if event.get("subtype") not in accepted or (from_bot and not hear_bots):
        return None
    raw, mentioned = without_mention(clean_text(event.get("text"), 4 * MAX_TEXT_CHARS), own_ids)
    text, files = plain_text(raw)[:MAX_TEXT_CHARS], _files(event)
    mentioned = mentioned or event["type"] == "app_mention"
    if mentioned:
        threads.join(chat_id, thread_id or ts)
    mentioned = mentioned or event.get("parent_user_id") in own_ids or (chat_id, thread_id) in threads
    if not text and not files and not mentioned:
        return None
    chat_type = find_chat_type(chat_id, event.get("channel_type"))
    command, args = command_in(text) if mentioned or chat_type == "private" else (None, "")
    return InboundMessage(
        channel="teamchat",
        kind=MessageKind.COMMAND if command else MessageKind.MESSAGE,
        id=ts,
        dedupe_keys=_keys(envelope, event, chat_id, ts),
        chat_id=chat_id,
        text=text,
        thread_id=thread_id,
        chat_type=chat_type,
        sender_id=identifier(event.get("user")) or identifier(event.get("bot_id")) or None,
        sender_name=_sender_name(event),
        sender_username=named(within(event, "user_profile").get("name"), event.get("username")),
        sender_is_bot=from_bot,
        command=command,
        args=args,
        reply_to_id=thread_id,
        quote=_quote(event, own_ids),
        mentions_bot=mentioned,
        attachments=files,
        sent_at=float(ts),
        received_at=now,
    )


def timestamp(value: object) -> str:
    """Return the timestamp that identifies a message or thread, or `""` for other values."""
    return value if isinstance(value, str) and _TIMESTAMP.fullmatch(value) else ""


def find_chat_id(*values: object) -> str:
    """Return the first ID of a channel or person among `values`, or `""`."""
    return next((v for v in values if isinstance(v, str) and _CHAT_ID.fullmatch(v)), "")


def find_chat_type(chat_id: str, reported: object = None) -> str:
    """Return the type of a chat as the product named it, else by the first letter of its ID."""
    known = _CHAT_TYPES.get(reported) if isinstance(reported, str) else None
    return known or _BY_PREFIX.get(chat_id[0], "channel")


def command_in(text: str) -> tuple[str | None, str]:
    """Return the command in `text`, without its slash, and its arguments."""
    found = _COMMAND.fullmatch(text)
    return (found[1].lower(), (found[2] or "").strip()) if found else (None, "")


def own_ids_in(envelope: dict[str, Any]) -> tuple[str, ...]:
    """Return the bot's user IDs in an event, without those of people (`is_bot` false)."""
    bots = [one for one in objects(envelope.get("authorizations"), 10) if one.get("is_bot", True)]
    return tuple(own for one in bots if (own := identifier(one.get("user_id"))))


def _is_own(event: dict[str, Any], envelope: dict[str, Any], own_ids: Collection[str]) -> bool:
    if identifier(event.get("user")) in own_ids or identifier(event.get("bot_id")) in own_ids:
        return True
    own_app = identifier(envelope.get("api_app_id"))
    return bool(own_app) and own_app in (event.get("app_id"), within(event, "bot_profile").get("app_id"))


def _is_from_bot(event: dict[str, Any]) -> bool:
    by_bot = event.get("bot_id") or event.get("bot_profile") or event.get("subtype") == "bot_message"
    return bool(by_bot) or event.get("user") == "USLACKBOT"


def _keys(envelope: dict[str, Any], event: dict[str, Any], chat_id: str, ts: str) -> tuple[str, ...]:
    """Return up to three keys: a mention arrives as two events with one `ts`, and a resend has a new `ts`."""
    event_id, client_id = identifier(envelope.get("event_id")), identifier(event.get("client_msg_id"))
    keys = [f"event:{event_id}"] if event_id else []
    keys.append(f"message:{identifier(envelope.get('team_id'))}:{chat_id}:{ts}")
    return (*keys, f"client:{client_id}") if client_id else tuple(keys)


def _sender_name(event: dict[str, Any]) -> str:
    profile, bot = within(event, "user_profile"), within(event, "bot_profile")
    return named(
        profile.get("display_name"),
        profile.get("real_name"),
        event.get("username"),
        bot.get("name"),
        identifier(event.get("user")),
    )


def _quote(event: dict[str, Any], own_ids: Collection[str]) -> Quote | None:
    """Return the first message of the thread, or a shared message: the product delivers no other quotation."""
    root = within(event, "root")
    shared = (one for one in objects(event.get("attachments"), _MAX_FILES) if one.get("is_share") is True)
    quoted = root or next(shared, {})
    text = plain_text(clean_text(quoted.get("text"), 4 * MAX_TEXT_CHARS)).strip()
    if not text:
        return None
    author = identifier(quoted.get("user")) or identifier(quoted.get("author_id"))
    return Quote(
        _sender_name(root) if root else named(quoted.get("author_name"), author),
        sender_id=author or None,
        text=text[:MAX_QUOTE_CHARS],
        is_cut=len(text) > MAX_QUOTE_CHARS,
        by_bot=author in own_ids or identifier(quoted.get("bot_id")) in own_ids,
    )


def _files(event: dict[str, Any]) -> tuple[Attachment, ...]:
    found = (_file(one) for one in objects(event.get("files"), _MAX_FILES))
    return tuple(file for file in found if file.file_id)


def _file(one: dict[str, Any]) -> Attachment:
    mime, milliseconds = named(one.get("mimetype")).lower(), whole(one.get("duration_ms"))
    return Attachment(
        kind="voice" if one.get("subtype") == "slack_audio" else attachment_kind(mime),
        file_id=identifier(one.get("id")),
        mime=mime,
        name=named(one.get("name"), one.get("title")),
        size=whole(one.get("size")),
        duration=None if milliseconds is None else milliseconds / 1000,
        width=whole(one.get("original_w")),
        height=whole(one.get("original_h")),
    )
