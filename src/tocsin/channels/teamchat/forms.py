"""Read slash commands, buttons, menus, shortcuts and dialogs. Source: docs/facts/teamchat.md."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.channels.teamchat.events import find_chat_id, find_chat_type, timestamp
from tocsin.channels.teamchat.wording import plain_text
from tocsin.core.reading.untrusted import MAX_NAME_CHARS, MAX_TEXT_CHARS, clean_text, identifier, named, objects, within

_PRIVATE_NAMES = {"directmessage": "private", "privategroup": "group"}
_INTERACTIONS = (
    "block_actions",
    "interactive_message",
    "message_action",
    "shortcut",
    "view_submission",
    "dialog_submission",
)
_MAX_ACTIONS = 25


def read_command(fields: Mapping[str, str], body: bytes, *, now: float) -> InboundMessage | None:
    """Return the slash command in a form; its text is what the person typed."""
    word = clean_text(fields.get("command"), MAX_NAME_CHARS).strip()
    user, chat_id = identifier(fields.get("user_id")), find_chat_id(fields.get("channel_id"), fields.get("user_id"))
    name = word.removeprefix("/").lower()
    if not name or " " in word or not word.isprintable() or not chat_id:
        return None
    args = plain_text(clean_text(fields.get("text"), 4 * MAX_TEXT_CHARS)).strip()[:MAX_TEXT_CHARS]
    trigger = identifier(fields.get("trigger_id")) or sha256(body).hexdigest()
    return InboundMessage(
        channel="teamchat",
        kind=MessageKind.COMMAND,
        id=trigger,
        dedupe_keys=(f"trigger:{trigger}",),
        chat_id=chat_id,
        text=f"/{name} {args}".strip(),
        chat_type=_PRIVATE_NAMES.get(fields.get("channel_name", ""), "") or find_chat_type(chat_id),
        sender_id=user or None,
        sender_name=named(fields.get("user_name"), user),
        sender_username=named(fields.get("user_name")),
        command=name,
        args=args,
        mentions_bot=True,
        sent_at=now,
        received_at=now,
    )


def read_interaction(payload: dict[str, Any], body: bytes, *, now: float) -> InboundMessage | None:
    """Return a button, a choice or a form as a message, or `None` if it is not for this program."""
    if payload.get("type") not in _INTERACTIONS:
        return None
    user, message, container = (within(payload, name) for name in ("user", "message", "container"))
    user_id = identifier(user.get("id"))
    # A dialog has no channel, so the answer goes to the person.
    chat_id = find_chat_id(within(payload, "channel").get("id"), container.get("channel_id"), user_id)
    data, args = _chosen(payload)
    if not chat_id or not data:
        return None
    trigger = identifier(payload.get("trigger_id")) or sha256(body).hexdigest()
    pressed_on = (message.get("ts"), container.get("message_ts"), payload.get("message_ts"))
    return InboundMessage(
        channel="teamchat",
        kind=MessageKind.CALLBACK,
        id=trigger,
        dedupe_keys=(f"trigger:{trigger}",),
        chat_id=chat_id,
        text=_message_text(payload, message),
        thread_id=timestamp(message.get("thread_ts")) or timestamp(container.get("thread_ts")) or None,
        chat_type=find_chat_type(chat_id),
        sender_id=user_id or None,
        sender_name=named(user.get("username"), user.get("name"), user_id),
        sender_username=named(user.get("username"), user.get("name")),
        args=args,
        callback_id=trigger,
        callback_data=data,
        reply_to_id=next(filter(None, map(timestamp, pressed_on)), None),
        mentions_bot=True,
        sent_at=now,
        received_at=now,
    )


def _message_text(payload: dict[str, Any], message: dict[str, Any]) -> str:
    """Return the text of the message that a shortcut was used on."""
    if payload["type"] != "message_action":
        return ""
    return plain_text(clean_text(message.get("text"), 4 * MAX_TEXT_CHARS))[:MAX_TEXT_CHARS]


def _chosen(payload: dict[str, Any]) -> tuple[str, str]:
    """Return a button's value and `""`, or the name of another control and the chosen or typed values."""
    actions = objects(payload.get("actions"), 1)
    if not actions:
        view = within(payload, "view")
        name = _data(payload.get("callback_id"), view.get("callback_id"))
        typed = _typed(view) or _texts(within(payload, "submission"))
        return name, "\n".join(typed)[:MAX_TEXT_CHARS]
    (action,) = actions
    name, chosen = _data(action.get("action_id"), action.get("name")), _options(action)
    if chosen:
        return name, " ".join(chosen)
    return _data(action.get("value")) or name, ""


def _options(action: dict[str, Any]) -> list[str]:
    """Return the values chosen from a menu, in its old or new form."""
    one, several = within(action, "selected_option"), objects(action.get("selected_options"), _MAX_ACTIONS)
    values = [_data(option.get("value")) for option in ([one] if one else several)]
    kinds = ("user", "channel", "conversation", "date", "time")
    return [value for value in (*values, *(_data(action.get(f"selected_{kind}")) for kind in kinds)) if value]


def _typed(view: dict[str, Any]) -> list[str]:
    """Return the values of a dialog, in the order of blocks and controls."""
    found: list[str] = []
    for block in list(within(view, "state", "values").values())[:_MAX_ACTIONS]:
        for control in objects(list(block.values()) if isinstance(block, dict) else [], _MAX_ACTIONS):
            found += [text] if (text := clean_text(control.get("value"))) else _options(control)
    return found


def _texts(submission: dict[str, Any]) -> list[str]:
    return [text for value in list(submission.values())[:_MAX_ACTIONS] if (text := clean_text(value))]


def _data(*values: object) -> str:
    return next((text for value in values if (text := clean_text(value, 2_000).strip())), "")
