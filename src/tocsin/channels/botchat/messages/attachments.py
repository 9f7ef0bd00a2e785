"""Parse the attachments of a message. Source: docs/facts/botchat.md, "Files"."""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.botchat.messages.fields import count, identifier, record, records, words
from tocsin.channels.inbound import Attachment

LONGEST_NAME = 255
# Field of the message, kind, and MIME type if the API does not provide one. An animation also appears as a document,
# which takes precedence.
FIELDS = (
    ("voice", "voice", "audio/ogg"),
    ("audio", "audio", ""),
    ("document", "document", ""),
    ("video", "video", ""),
    ("video_note", "video", "video/mp4"),
)
# Content that the API mentions, but does not give to bots.
CLOSED = ("story", "paid_media", "invoice", "game", "giveaway", "giveaway_winners")


def read_attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """Return the attachments of `message`: the largest size of a photo, and no ID for files that bots cannot open."""
    found = [
        attachment
        for field, kind, mime in FIELDS
        if (attachment := _attachment(kind, record(message.get(field)), mime)) is not None
    ]
    largest = max(records(message.get("photo")), key=_area, default={})  # their order is not reliable
    if photo := _attachment("photo", largest, "image/jpeg"):
        found.append(photo)
    found += [Attachment("other", "", name=field.replace("_", " ")) for field in CLOSED if field in message]
    return tuple(found)


def _attachment(kind: str, file: dict[str, Any], mime: str) -> Attachment | None:
    file_id = identifier(file.get("file_id"))
    if not file_id:
        return None
    duration = count(file.get("duration"))
    return Attachment(
        kind,
        file_id,
        mime=words(file.get("mime_type"), LONGEST_NAME) or mime,
        name=words(file.get("file_name"), LONGEST_NAME),
        size=count(file.get("file_size")),
        duration=None if duration is None else float(duration),
        width=count(file.get("width")),
        height=count(file.get("height")),
    )


def _area(size: dict[str, Any]) -> int:
    return (count(size.get("width")) or 0) * (count(size.get("height")) or 0)
