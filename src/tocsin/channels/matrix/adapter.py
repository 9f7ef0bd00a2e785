"""matrix sends: events with transaction IDs. Source: docs/facts/matrix.md."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tocsin.channels.contract import (
    COMMONMARK,
    ChannelSpec,
    MessageGoneError,
    OutboundAdapter,
    Part,
    Sent,
    Shown,
    Tools,
)
from tocsin.channels.matrix.api import MISSING, TOKEN, URL, MatrixApi
from tocsin.channels.matrix.content import plain_message, rich_message, shrink
from tocsin.channels.matrix.rooms import MatrixRooms
from tocsin.channels.model import FILES, FileLimits, degraded, native
from tocsin.core.errors import ChannelError
from tocsin.core.plugins import load_class
from tocsin.core.text.measures import utf8_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tocsin.channels.matrix.media import MatrixMedia
    from tocsin.core.config.settings import Values

# An event has at most 65,536 bytes of JSON, and an edit contains its text twice, and as HTML.
MAX_BYTES = 12_000
MAX_EVENT_BYTES = 60_000
_MEDIA = "tocsin.channels.matrix.media:MatrixMedia"
_HOST = r"[A-Za-z0-9.:\[\]-]{1,230}"
_TARGET = re.compile(rf"![^\s:/?#%]{{1,200}}(?::{_HOST})?|#[^\s:/?%]{{1,200}}:{_HOST}")


class MatrixAdapter(OutboundAdapter):
    """Sends to rooms."""

    spec = ChannelSpec(
        kind="matrix",
        label="Matrix",
        schemes=("matrixs",),
        product="Matrix client-server API",
        secrets=(TOKEN,),
        options=(URL,),
        target_format="room ID as !room:server, or alias as #ops:server",
        arrival=(
            "The bot has joined the room, and its power level allows it to send.",
            "The room is not encrypted.",
            "Your notification settings of the room are not off; messages without a sound are notices.",
        ),
        max_length=MAX_BYTES,
        chunk_at=MAX_BYTES,
        measure=utf8_bytes,
        recognises_repeats=True,
        abilities={
            "title": degraded("a bold first line"),
            "priority": degraded("a symbol before the title, from 4 on"),
            "type": degraded("a symbol before the title"),
            "click": degraded("a link after the text"),
            "actions": degraded("links after the text"),
            "attach": native("messages of their own, after the text; pictures are shown"),
            "mention": native("people by @name:server; @here and @channel mention the room"),
            "silent": native("a notice, which makes no sound"),
            "key": native("edits"),
            "withdraw": native(),
            "thread": native(),
        },
        files=FileLimits(apart=True),  # the homeserver says how large
        # Two calls of 25 s for the event, and up to three that look up.
        send_timeout_s=120.0,
    )
    dressing = "tocsin.channels.matrix.dressing:MatrixDressing"
    standin = "tocsin.channels.matrix.standin:MatrixServer"

    def __init__(self, config: "Values", tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = MatrixApi(config, tools.http)
        self._rooms = MatrixRooms(self._api, tools.clock)

    @cached_property
    def _media(self) -> "MatrixMedia":
        media: MatrixMedia = load_class(_MEDIA)(self._api)  # loads the fields of messages
        return media

    def check_target(self, target: str) -> str:
        """Accept a room's ID or alias."""
        if not _TARGET.fullmatch(target):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"use a {self.spec.target_format}")
        return target

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return the parts of a text, as Markdown if it is that: each is sent as plain text and as HTML."""
        return [(part, ()) for part in self.split_text(text)]

    async def deliver(self, part: Part) -> Sent:
        """Send one part; the note is the event's ID, the same for a repeat with its transaction ID."""
        room = await self._rooms.find(part.target)
        content = await self._media.content(part.files[0]) if part.files else self._content(part)
        if part.thread and (root := part.thread.ref.get("event")):
            content["m.relates_to"] = {
                "rel_type": "m.thread", "event_id": root, "is_falling_back": True, "m.in_reply_to": {"event_id": root},
            }  # fmt: skip
        event = await self._send(part.target, room, content, part.key)
        files = {FILES: ",".join(filter(None, [part.message.get(FILES, ""), event]))} if part.files else {}
        return Sent(f"id={event}", {"room": room, "event": event, **files})

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> str:
        """Replace the content of an event; a homeserver accepts that for a redacted one, too, so look first."""
        await self._rooms.find(ref["room"])
        await self._check_there(ref)
        new = self._content(part)
        # What clients without edits show. An edit mentions no one again.
        content = {"msgtype": new["msgtype"], "body": f"* {new['body']}", "m.mentions": {}, "m.new_content": new}
        content["m.relates_to"] = {"rel_type": "m.replace", "event_id": ref["event"]}
        await self._send(ref["room"], ref["room"], content, part.key)
        if not part.keeps_files:
            await self._remove(ref["room"], ref.get(FILES, ""))
        return f"id={ref['event']}"

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Redact an event and those of its files; repeating this has no further effect."""
        await self._remove(ref["room"], f"{ref['event']},{ref.get(FILES, '')}")
        return f"withdrew id={ref['event']}"

    async def _remove(self, room: str, events: str) -> None:
        place = f"/rooms/{quote(room, safe='')}/redact"
        for event in filter(None, events.split(",")):
            await self._api.put(f"{place}/{quote(event, safe='')}/{transaction_id('redact', event)}", {})

    async def probe(self) -> str:
        """Look up the account of the token."""
        return await self._rooms.account()

    def _content(self, part: Part) -> dict[str, Any]:
        content = (rich_message if part.parse_mode == COMMONMARK else plain_message)(part.text)
        if part.content:
            self.dresser.dress(content, part, part.content)
        return content

    async def _send(self, target: str, room: str, content: dict[str, Any], key: str) -> str:
        try:
            return await self._api.put(
                f"/rooms/{quote(room, safe='')}/send/m.room.message/{transaction_id('send', key)}",
                shrink(content, MAX_EVENT_BYTES),
            )
        except ChannelError:
            self._rooms.forget(target)
            raise

    async def _check_there(self, ref: "Mapping[str, str]") -> None:
        path = f"/rooms/{quote(ref['room'], safe='')}/event/{quote(ref['event'], safe='')}"
        try:
            found = await self._api.get(path, "event_id")
        except ChannelError as refusal:
            if refusal.provider_code == MISSING:
                raise MessageGoneError("the message was deleted there", provider_code=MISSING) from None
            raise
        if not found.get("content"):
            raise MessageGoneError("the message was deleted there", provider_code="redacted")


def transaction_id(operation: str, key: str) -> str:
    """Return the transaction ID of a call: the same at every attempt, for this device."""
    from hashlib import sha256

    return sha256(f"{operation} {key}".encode()).hexdigest()[:32]
