"""A message on its way to the Bot API, and its differences from the requested one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import Part
from tocsin.channels.model import FILES

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.botchat.extras import Extras, InlineKeyboard

_LINE_TAG = r"(?i)<(?:br|/p|/div|/li|/h[1-6])\s*/?>(?!\n)"
# Possessive quantifiers: with backtracking a text of many `href=` takes hours.
_LINK = r"""(?is)<a\s[^<>]*?href\s*+=\s*+["']?+([^"'<>\s]++)[^<>]*+>(.*?)</a\s*>"""
_TAG = r"</?[A-Za-z][^<>]*>"


@dataclass(slots=True)
class Draft:
    """A message to send, including the amendments made after refusals."""

    chat_id: int | str
    text: str
    parse_mode: str | None
    thread_id: int | None
    entities: list[dict[str, Any]] = field(default_factory=list)
    reply_to: int | None = None
    edits: int | None = None  # the ID of the message to replace
    keyboard: "InlineKeyboard | None" = None
    silent: bool = False
    keyed: bool = False  # it edits the message of a key, which is not sent anew here
    moved: bool = False
    remarks: list[str] = field(default_factory=list)
    files: "tuple[AttachedFile, ...]" = ()
    as_documents: bool = False  # the server refused a picture
    file_ids: dict[int, str] = field(default_factory=dict)  # by position, of files that the server has

    @property
    def method(self) -> str:
        """The API method to call."""
        if self.files:
            return "sendMediaGroup" if len(self.files) > 1 else f"send{self.kind.title()}"
        return "editMessageText" if self.edits else "sendMessage"

    @property
    def kind(self) -> str:
        """How the files are sent."""
        return "document" if self.as_documents else kind_of(self.files[0])

    @property
    def uploads(self) -> "list[tuple[str, AttachedFile]]":
        """The files that the server lacks, with the names of their parameters."""
        if len(self.files) == 1:
            return [] if self.file_ids else [(self.kind, self.files[0])]
        lacking = (each for each in enumerate(self.files) if each[0] not in self.file_ids)
        return [(f"file{number}", file) for number, file in lacking]

    def params(self) -> dict[str, Any]:
        """Return the parameters of the API method."""
        place: dict[str, Any] = {"message_id": self.edits}
        if not self.edits:
            reply = {"message_id": self.reply_to, "allow_sending_without_reply": True}
            place = {
                "message_thread_id": self.thread_id,
                "reply_parameters": reply if self.reply_to else None,
                "disable_notification": self.silent or None,
            }
        if self.files:
            return self._with_files({"chat_id": self.chat_id, **place})
        return {
            "chat_id": self.chat_id,
            **place,
            "text": self.text,
            "parse_mode": self.parse_mode,
            "entities": self.entities or None,
            "link_preview_options": {"is_disabled": True},
            "reply_markup": {"inline_keyboard": self.keyboard} if self.keyboard else None,
        }

    def _with_files(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters besides the files, which have the text as caption; only one file has buttons."""
        caption = {
            "caption": self.text or None,
            "parse_mode": self.parse_mode,
            "caption_entities": self.entities or None,
        }
        keyboard = {"inline_keyboard": self.keyboard} if self.keyboard else None
        if len(self.files) == 1:
            known = {self.kind: self.file_ids[0]} if self.file_ids else {}
            return {**place, **caption, **known, "reply_markup": keyboard}
        media = [
            {"type": self.kind, "media": self.file_ids.get(number, f"attach://file{number}")}
            for number in range(len(self.files))
        ]
        return {**place, "media": media}

    def take_extras(self, part: Part) -> None:
        """Apply the extras of a part: the first part replies to or replaces a message, the last one has the buttons."""
        extras = load_extras(part.extra)
        if part.first:
            self.reply_to, self.edits = extras.reply_to, extras.edit_message_id
        if part.last:
            self.keyboard = extras.keyboard

    def move(self, new_id: int) -> None:
        """Address the supergroup that the chat has become."""
        self.remarks.append(f"the group has a new ID, use {new_id}")
        self.chat_id, self.moved = new_id, True

    def drop_markup(self) -> None:
        """Send the source text without markup; HTML, which is unreadable as source, loses its tags."""
        if self.parse_mode == "HTML":
            self.text = without_tags(self.text)
        self.parse_mode, self.entities = None, []

    def drop_thread(self) -> None:
        """Send to the chat itself instead of the topic."""
        self.remarks.append(f"topic {self.thread_id} no longer exists, sent to the chat itself")
        self.thread_id = None

    def ref(self, sent: object) -> dict[str, str]:
        """Return what a later edit needs, with the IDs of the messages that show files; empty if there is no ID."""
        album = sent if isinstance(sent, list) else [sent]
        ids = [each["message_id"] for each in album if isinstance(each, dict) and "message_id" in each]
        if not ids or not isinstance(ids[0], int):
            return {}
        files = {FILES: ",".join(map(str, ids))} if self.files else {}
        return {"chat": str(self.chat_id), "id": str(ids[0]), **files}

    def note(self, sent: object) -> str:
        """Return the delivery note."""
        sent = sent[0] if isinstance(sent, list) and sent else sent
        message_id = sent.get("message_id", "?") if isinstance(sent, dict) else "?"
        remarks = f" ({'; '.join(self.remarks)})" if self.remarks else ""
        return f"id={message_id}{remarks}"


MAX_CAPTION = 1_024  # UTF-16 units, after the markup is parsed
MAX_PHOTO_BYTES = 10 * 2**20
_PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})


def kind_of(file: "AttachedFile") -> str:
    """Return how a file is sent: as `photo`, which is shown, or as `document`."""
    return "photo" if file.type in _PHOTOS and file.size <= MAX_PHOTO_BYTES else "document"


def without_tags(source: str) -> str:
    """Return the readable text of HTML, with the addresses of links; never longer than `source`, never blank."""
    from html import unescape

    lines = re.sub(_LINE_TAG, "\n", source)
    links_shown = re.sub(_LINK, lambda link: link[2] if link[1] == link[2] else f"{link[2]} ({link[1]})", lines)
    readable = unescape(re.sub(_TAG, "", links_shown))
    return readable if readable.strip() else source


def load_extras(extra: Mapping[str, Any]) -> "Extras":
    """Parse the extras of a message; the parser is imported only for messages that have some."""
    from tocsin.channels.botchat.extras import read_extras

    return read_extras(extra)
