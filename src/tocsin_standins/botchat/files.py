"""Files sent to the bot, as the Bot API describes each kind."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Any

PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
VOICE_TYPES = frozenset({"audio/ogg", "audio/opus", "audio/webm"})
FOLDERS = {"photo": "photos", "voice": "voice", "audio": "music", "document": "documents"}


def choose_kind(name: str, mime: str) -> tuple[str, str]:
    """Return the kind that an app sends a file as (photo, voice, audio or document), and its media type."""
    mime = mime.partition(";")[0].strip().lower()
    if mime in ("", "application/octet-stream"):
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if mime in PHOTO_TYPES:
        return "photo", mime
    if mime in VOICE_TYPES:
        return "voice", mime
    return ("audio" if mime.startswith("audio/") else "document"), mime


def build_fields(kind: str, file_id: str, name: str, mime: str, size: int) -> dict[str, Any]:
    """Return the field of a message that carries the file."""
    file = {"file_id": file_id, "file_unique_id": file_id[-8:], "file_size": size}
    if kind == "photo":
        return {"photo": [{**file, "width": 1, "height": 1}]}
    if kind == "voice":
        return {"voice": {**file, "duration": 1, "mime_type": mime}}
    more = {"duration": 1} if kind == "audio" else {}
    return {kind: {**file, **more, "file_name": name, "mime_type": mime}}


def file_label(message: Mapping[str, Any]) -> str:
    """Return the text that stands for a file in a message: its name or kind."""
    for kind in FOLDERS:
        if file := message.get(kind):
            return str(file.get("file_name") or kind) if isinstance(file, Mapping) else kind
    return ""
