"""Stand-in of a Matrix homeserver: rooms and transactions. It imports nothing of ours: it plays the other side."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, parse_json, whole_seconds

TOKEN = "syt_InStandInStandInStandIn"  # noqa: S105  # opens nothing else
USER = "@tocsin:standin.example"
ALIAS = "#ops:standin.example"
OPS, OPAQUE, ENCRYPTED, LEFT = (
    "!ops:standin.example",
    "!opaque",
    "!encrypted:standin.example",
    "!left:standin.example",
)
EVENT_BYTES = 65_536
MEDIA_BYTES = 50 * 2**20
_MEDIA = {"m.image", "m.file"}
MEANINGS = {
    "M_FORBIDDEN": (403, f"User {USER} not in room"),
    "M_NOT_FOUND": (404, "Event not found."),
    "M_UNKNOWN_TOKEN": (401, "Invalid access token passed."),
    "M_MISSING_TOKEN": (401, "Missing access token"),
    "M_BAD_JSON": (400, "Invalid content"),
    "M_NOT_JSON": (400, "Content not JSON."),
    "M_TOO_LARGE": (413, "event too large"),
    "M_UNRECOGNIZED": (404, "Unrecognized request"),
    "M_RESOURCE_LIMIT_EXCEEDED": (403, "Server limit reached"),
}


@dataclass(slots=True)
class MatrixRoom:
    """A room with its events by ID."""

    id: str
    encrypted: bool = False
    joined: bool = True
    events: dict[str, dict[str, Any]] = field(default_factory=dict)


class MatrixServer(HttpStandIn):
    """The client-server API for one account; the base URL for adapters is `url`.

    `device` off is a token that an administrator made: it has no device, and repeats are not recognised.
    """

    channel = "matrix"
    sample = ALIAS

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        token: str = TOKEN,
        device: bool = True,
        media_bytes: int = MEDIA_BYTES,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.media_bytes = media_bytes
        self.media: dict[str, tuple[str, str, bytes]] = {}  # name, type and content by address
        self.token = token
        self.device = device
        known = (
            MatrixRoom(OPS),
            MatrixRoom(OPAQUE),
            MatrixRoom(ENCRYPTED, encrypted=True),
            MatrixRoom(LEFT, joined=False),
        )
        self.rooms = {room.id: room for room in known}
        self.aliases = {ALIAS: OPS}
        self._transactions: dict[str, str] = {}  # event IDs by path

    def environment(self) -> dict[str, str]:
        """Return the settings that point the channel here."""
        return {"MATRIX_URL": self.url, "MATRIX_TOKEN": self.token}

    def operation(self, request: web.Request) -> str:
        """Return `send`, `redact`, `state`, `event`, `room`, `whoami`, `upload` or `config`."""
        if "/media/" in request.path:
            return request.path.rsplit("/", 1)[-1]
        parts = request.path.removeprefix("/_matrix/client/v3/").split("/")
        return parts[2] if parts[0] == "rooms" and len(parts) > 2 else parts[1] if len(parts) > 1 else parts[0]

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        v3, room = "/_matrix/client/v3", "/_matrix/client/v3/rooms/{room}"
        return [
            web.get(v3 + "/account/whoami", self._whoami),
            web.get(v3 + "/directory/room/{alias}", self._alias),
            web.get(room + "/state/m.room.encryption", self._encryption),
            web.get(room + "/event/{event}", self._event),
            web.put(room + "/send/m.room.message/{transaction}", self._send),
            web.put(room + "/redact/{event}/{transaction}", self._redact),
            web.get("/_matrix/client/v1/media/config", self._media_config),
            web.post("/_matrix/media/v3/upload", self._upload),
            web.route("*", "/{tail:.*}", self._missing),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with one of the homeserver's error codes."""
        if fault.kind == "rate_limited":
            body = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": fault.seconds * 1000}
            return web.json_response(body, status=429, headers={"Retry-After": whole_seconds(fault.seconds)})
        return answer_with(fault.code, fault.text, status=fault.http_status)

    async def _whoami(self, request: web.Request) -> web.Response:
        self._check(request)
        return web.json_response(
            {"user_id": USER, "is_guest": False} | ({"device_id": "TOCSIN"} if self.device else {})
        )

    async def _alias(self, request: web.Request) -> web.Response:
        self._check(request)
        alias = request.match_info["alias"]
        if alias not in self.aliases:
            raise refuse("M_NOT_FOUND", f"Room alias {alias} not found")
        return web.json_response({"room_id": self.aliases[alias], "servers": ["standin.example"]})

    async def _encryption(self, request: web.Request) -> web.Response:
        if not self._room(request).encrypted:
            raise refuse("M_NOT_FOUND")
        return web.json_response({"algorithm": "m.megolm.v1.aes-sha2"})

    async def _event(self, request: web.Request) -> web.Response:
        event = self._room(request).events.get(request.match_info["event"])
        if event is None:
            raise refuse("M_NOT_FOUND")
        return web.json_response(event)

    async def _send(self, request: web.Request) -> web.Response:
        room = self._room(request)
        content = await read_object(request)
        if known := self._known(request):
            text = str(content.get("body", ""))
            self.record(request, room.id, text, id=known, account="tocsin", kind="duplicate", body=content)
            return web.json_response({"event_id": known})
        if room.encrypted:
            raise AssertionError("clear text was sent into an encrypted room")
        check_content(content)
        self._check_media(content)
        relation = content.get("m.relates_to", {})
        replaced = relation.get("event_id", "") if relation.get("rel_type") == "m.replace" else ""
        event = self._add(request, room, "m.room.message", content)
        shown = content["m.new_content"] if replaced else content
        target = replaced or event
        # A homeserver accepts an edit of an event that it lacks, or that is redacted; no client shows it.
        there = room.events.get(target, {}).get("content") if replaced else content
        kind = "message" if not replaced else "edit" if there else "ignored"
        thread = relation.get("event_id", "") if relation.get("rel_type") == "m.thread" else ""
        self.record(
            request, room.id, shown["body"], id=target, account="tocsin", kind=kind, thread=thread, body=content
        )  # fmt: skip
        return web.json_response({"event_id": event})

    async def _redact(self, request: web.Request) -> web.Response:
        room = self._room(request)
        await read_object(request)
        target = request.match_info["event"]
        if known := self._known(request):
            return web.json_response({"event_id": known})
        if target in room.events:
            room.events[target]["content"] = {}
        event = self._add(request, room, "m.room.redaction", {"redacts": target})
        self.record(request, room.id, "", id=target, account="tocsin", kind="deletion")
        return web.json_response({"event_id": event})

    async def _media_config(self, request: web.Request) -> web.Response:
        self._check(request)
        return web.json_response({"m.upload.size": self.media_bytes})

    async def _upload(self, request: web.Request) -> web.Response:
        self._check(request)
        data = await request.read()
        if len(data) > self.media_bytes:
            raise refuse("M_TOO_LARGE", "Upload request body is too large")
        address = f"mxc://standin.example/{secrets.token_urlsafe(12)}"
        self.media[address] = (request.query.get("filename", ""), request.headers["Content-Type"], data)
        return web.json_response({"content_uri": address})

    def _check_media(self, content: Mapping[str, Any]) -> None:
        if content.get("msgtype") not in _MEDIA:
            return
        name, kind, data = self.media.get(str(content.get("url")), ("", "", b""))
        info = content.get("info", {})
        if not data or content.get("filename") != name or (info.get("mimetype"), info.get("size")) != (kind, len(data)):
            raise refuse("M_BAD_JSON", "the event does not describe an uploaded file")

    async def _missing(self, request: web.Request) -> web.Response:
        raise refuse("M_UNRECOGNIZED")

    def _add(self, request: web.Request, room: MatrixRoom, sort: str, content: Mapping[str, Any]) -> str:
        event_id = f"${secrets.token_urlsafe(32)}"
        room.events[event_id] = {"event_id": event_id, "type": sort, "sender": USER, "content": dict(content)}
        if self.device:
            self._transactions[request.path] = event_id
        return event_id

    def _known(self, request: web.Request) -> str:
        return self._transactions.get(request.path, "")

    def _check(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "")
        if not given:
            raise refuse("M_MISSING_TOKEN")
        if not secrets.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            raise RefusalError(answer_with("M_UNKNOWN_TOKEN", soft_logout=False))

    def _room(self, request: web.Request) -> MatrixRoom:
        self._check(request)
        room = self.rooms.get(request.match_info["room"])
        if room is None or not room.joined:  # an unknown room is no different
            raise refuse("M_FORBIDDEN")
        return room


async def read_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON object of a request, or refuse."""
    raw = await request.read()
    try:
        content = parse_json(raw)
    except ValueError:
        raise refuse("M_NOT_JSON") from None
    if not isinstance(content, dict):
        raise refuse("M_BAD_JSON")
    if len(json.dumps(content, ensure_ascii=False).encode()) > EVENT_BYTES:
        raise refuse("M_TOO_LARGE")
    return content


def check_content(content: Mapping[str, Any]) -> None:
    """Refuse the content of a message that clients would not show."""
    relation = content.get("m.relates_to", {})
    new = content.get("m.new_content")
    if (relation.get("rel_type") == "m.replace") != isinstance(new, dict):
        raise refuse("M_BAD_JSON", "an edit has m.new_content, and only that")
    for each in (content, *([new] if isinstance(new, dict) else [])):
        if each.get("msgtype") not in {"m.text", "m.notice", *_MEDIA} or not isinstance(each.get("body"), str):
            raise refuse("M_BAD_JSON", "msgtype or body is missing")
        if ("formatted_body" in each) != (each.get("format") == "org.matrix.custom.html"):
            raise refuse("M_BAD_JSON", "format and formatted_body belong together")
        if not isinstance(each.get("m.mentions", {}), dict):
            raise refuse("M_BAD_JSON", "m.mentions is not an object")


def refuse(code: str, text: str = "") -> RefusalError:
    """Return the refusal with this code."""
    return RefusalError(answer_with(code, text))


def answer_with(code: str, text: str = "", *, status: int = 0, **fields: Any) -> web.Response:
    """Return the answer with this code; text and status default to the product's."""
    usual_status, usual_text = MEANINGS.get(code, (500, "Internal server error"))
    return web.json_response({"errcode": code, "error": text or usual_text, **fields}, status=status or usual_status)
