"""Read slash commands, buttons, menus and dialogs. Source: docs/facts/guildchat.md."""

import re
from collections.abc import Iterator
from typing import Any

from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind, attachment_kind
from tocsin.core.reading.untrusted import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    clean_text,
    identifier,
    named,
    objects,
    whole,
    within,
)

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5

_ID = re.compile(r"[0-9]{1,20}")
_EPOCH_MS = 1_420_070_400_000  # a snowflake's first 42 bits count milliseconds from here
_LONGEST_S = 10**6  # of a recording
_GROUP_DM = 3
_USER_COMMAND, _MESSAGE_COMMAND = 2, 3  # called from the menu of a person or of a message
_MAX_OPTIONS = 25
_MAX_LEVELS = 3  # group, command, option


def read_message(interaction: dict[str, Any], *, now: float) -> InboundMessage | None:
    """Return a command, a button, a choice or a form as a message; `None` if its ID or name is missing."""
    sort, data = interaction.get("type"), within(interaction, "data")
    interaction_id = snowflake(interaction.get("id"))
    chat_id = snowflake(interaction.get("channel_id")) or snowflake(within(interaction, "channel").get("id"))
    # The token answers; the channel is needed only once the token has expired.
    chat_id = chat_id or interaction_id
    read = {COMMAND: _command, COMPONENT: _component, MODAL: _modal}.get(sort if isinstance(sort, int) else 0)
    said = read(interaction, data) if read and interaction_id else None
    if said is None:
        return None
    user = within(interaction, "member", "user") or within(interaction, "user")
    return InboundMessage(
        channel="guildchat",
        id=interaction_id,
        dedupe_keys=(f"interaction:{interaction_id}",),
        chat_id=chat_id,
        chat_type=_chat_type(interaction),
        sender_id=snowflake(user.get("id")) or None,
        sender_name=sender_name(user, within(interaction, "member")),
        sender_username=named(user.get("username")),
        sender_language=identifier(interaction.get("locale")),
        sender_is_bot=user.get("bot") is True,
        mentions_bot=True,
        sent_at=made_at(interaction_id, now),
        received_at=now,
        **said,
    )


def snowflake(value: object) -> str:
    """Return an ID of the product, or an empty text."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def made_at(an_id: str, now: float) -> float:
    """Return the Unix time in a snowflake; `now` if that is implausible."""
    at = ((int(an_id or "0") >> 22) + _EPOCH_MS) / 1000
    return at if len(an_id) >= 17 and at <= now + 3600 else now


def sender_name(user: dict[str, Any], member: dict[str, Any]) -> str:
    """Return the person's display name."""
    return named(member.get("nick"), user.get("global_name"), user.get("username"), snowflake(user.get("id")))


def _chat_type(interaction: dict[str, Any]) -> str:
    if snowflake(interaction.get("guild_id")):
        return "channel"
    return "group" if within(interaction, "channel").get("type") == _GROUP_DM else "private"


def _command(interaction: dict[str, Any], data: dict[str, Any]) -> dict[str, Any] | None:
    name = named(data.get("name")).lower()
    if not name:
        return None
    args = " ".join(word for word in _arguments(data) if word)[:MAX_TEXT_CHARS]
    files = within(data, "resolved", "attachments")
    return {
        "kind": MessageKind.COMMAND,
        "text": f"/{name} {args}".strip(),
        "command": name,
        "args": args,
        "attachments": tuple(_files(files)),
    }


def _component(interaction: dict[str, Any], data: dict[str, Any]) -> dict[str, Any] | None:
    name, values = clean_text(data.get("custom_id"), MAX_NAME_CHARS), data.get("values")
    chosen = [clean_text(value, MAX_NAME_CHARS) for value in values[:_MAX_OPTIONS]] if isinstance(values, list) else []
    if not name:
        return None
    return {
        "kind": MessageKind.CALLBACK,
        "args": " ".join(filter(None, chosen)),
        "callback_id": snowflake(interaction.get("id")),
        "callback_data": name,
        # Distinguishes a component from a dialog, which is answered differently.
        "reply_to_id": snowflake(within(interaction, "message").get("id")) or "0",
    }


def _modal(interaction: dict[str, Any], data: dict[str, Any]) -> dict[str, Any] | None:
    name = clean_text(data.get("custom_id"), MAX_NAME_CHARS)
    typed = "\n".join(_typed(data.get("components"), _MAX_LEVELS))[:MAX_TEXT_CHARS]
    if not name:
        return None
    return {
        "kind": MessageKind.CALLBACK,
        "text": typed,
        "args": typed,
        "callback_id": snowflake(interaction.get("id")),
        "callback_data": name,
    }


def _arguments(data: dict[str, Any]) -> Iterator[str]:
    target = snowflake(data.get("target_id"))
    if data.get("type") == _MESSAGE_COMMAND:
        yield clean_text(within(data, "resolved", "messages", target).get("content"))
    elif data.get("type") == _USER_COMMAND:
        yield target
    else:
        yield from _words(data.get("options"), _MAX_LEVELS)


def _words(options: object, levels: int) -> Iterator[str]:
    """Yield the names of subcommands and the values of options, in the order in which they were typed."""
    for option in objects(options, _MAX_OPTIONS):
        if "value" in option:
            yield _word(option["value"])
        elif levels:
            yield named(option.get("name"))
            yield from _words(option.get("options"), levels - 1)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, float) or whole(value) is not None else clean_text(value)


def _typed(components: object, levels: int) -> Iterator[str]:
    """Yield the values of a dialog; inputs are nested in rows or in labels."""
    for component in objects(components, _MAX_OPTIONS):
        if text := clean_text(component.get("value")):
            yield text
        values = component.get("values")
        yield from (clean_text(v, MAX_NAME_CHARS) for v in (values[:_MAX_OPTIONS] if isinstance(values, list) else []))
        if levels:
            yield from _typed(component.get("components"), levels - 1)
            yield from _typed([component.get("component")], levels - 1)


def _files(files: dict[str, Any]) -> Iterator[Attachment]:
    for one in objects(list(files.values()), _MAX_OPTIONS):
        mime, seconds = named(one.get("content_type")).lower(), one.get("duration_secs")
        timed = isinstance(seconds, int | float) and 0 < seconds < _LONGEST_S
        if file_id := identifier(one.get("id")):
            yield Attachment(
                kind=attachment_kind(mime),
                file_id=file_id,
                mime=mime,
                name=named(one.get("filename")),
                size=whole(one.get("size")),
                duration=float(seconds or 0) if timed else None,
                width=whole(one.get("width")),
                height=whole(one.get("height")),
            )
