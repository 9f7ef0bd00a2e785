"""The message of a payload, within the limits of messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.core.text.strings import storable, truncate
from tocsin.features.doors.model import Door, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.rules.generic import generic_message, is_link

MAX_TITLE, MAX_TEXT, MAX_KEY, MAX_LINK = 250, 64 * 1024, 1_000, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedMessage:
    """A message that can be sent."""

    title: str = ""
    text: str = ""
    severity: DoorSeverity = DoorSeverity.INFO
    key: str = ""
    link: str = ""
    profile: str = ""
    parse_mode: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    only_changes: bool = False
    expires_at: float | None = None
    drop: bool = False


def render(door: Door, request: DoorRequest, message: DoorMessage) -> RenderedMessage:
    """Return the message that a door sends."""
    if not message.is_finished:
        found = generic_message(message.payload)
        message = replace(found, payload=message.payload, note=message.note, content=message.content)
    return finished(door, message)


def finished(door: Door, message: DoorMessage, profile: str = "", *, drop: bool = False) -> RenderedMessage:
    """Return a message within all limits, with the defaults of its door."""
    title = truncate(_line(message.title), MAX_TITLE)
    text = truncate(storable(message.text).strip(), MAX_TEXT)
    return RenderedMessage(
        title=title,
        text=text if text or title else "(empty)",
        severity=message.severity or door.definition.severity,
        key=truncate(storable(message.key).strip(), MAX_KEY),
        link=message.link if is_link(message.link) and len(message.link) <= MAX_LINK else "",
        profile=profile or door.definition.profile,
        parse_mode=message.parse_mode,
        content=message.content,
        note=message.note,
        only_changes=message.only_changes,
        expires_at=message.expires_at,
        drop=drop,
    )


def _line(text: str) -> str:
    """Return a text on one line, without control characters."""
    joined = " ".join(storable(text).split())
    return "".join(each for each in joined if each.isprintable() or each == "\u200d")
