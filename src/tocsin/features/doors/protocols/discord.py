"""Webhooks of Discord: a content, embeds, and the bodies of Slack and GitHub at suffixes of the address."""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, ClassVar

from tocsin.channels.model import COMMONMARK
from tocsin.core.time.timestamps import timestamp
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    json_response,
    link_buttons,
    names_of_files,
    objects_in,
    read_object,
    text_in,
)
from tocsin.features.doors.protocols.slack import SlackProtocol
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.doors.severity import severity_of_colour
from tocsin.features.front_door import ANY_METHOD, FrontResponse

WEBHOOK = "/api/webhooks/{id}/{token}"
SLACK, GITHUB, SENT = f"{WEBHOOK}/slack", f"{WEBHOOK}/github", f"{WEBHOOK}/messages/{{message}}"
MAX_CONTENT, MAX_EMBEDS = 2_000, 10
SILENT = 4_096  # a flag
_UNKNOWN_WEBHOOK, _UNKNOWN_MESSAGE = 10_015, 10_008
_EMPTY, _INVALID, _NO_JSON = 50_006, 50_035, 50_109
_LINK_BUTTON = 5
_MENTION = re.compile(r"<(?:(?P<sign>@[!&]?|#)(?P<id>\d+)|a?(?P<emoji>:\w+:)\d+|t:(?P<time>\d{1,10})(?::\w)?)>")


class DiscordProtocol(DoorProtocol):
    """A POST of `content` and `embeds`."""

    name: ClassVar[str] = "discord"
    label: ClassVar[str] = "Discord"
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute(WEBHOOK, ("GET", "POST")),
        ProtocolRoute(SLACK),
        ProtocolRoute(GITHUB),
        ProtocolRoute(SENT, ("GET", "PATCH", "DELETE")),
        ProtocolRoute("/api/webhooks/{rest:path}", ANY_METHOD),
    )

    def mint(self) -> str:
        """Return 68 characters, the form of the original."""
        return secrets.token_urlsafe(51)

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of the webhook, whose number depends on the token."""
        number = 10**17 + int.from_bytes(sha256(token.encode()).digest()[:7], "big")
        return f"{base_url}/api/webhooks/{number}/{token}"

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Answer a GET of the webhook, by which senders try the address; messages are not kept for changes."""
        if request.route == SENT:
            return _error(404, "Unknown Message", _UNKNOWN_MESSAGE)
        if request.method not in {"GET", "HEAD"}:
            return None
        number, token = request.path.get("id", ""), request.path.get("token", "")
        own = {"id": number, "type": 1, "name": door, "avatar": None, "channel_id": number, "guild_id": number}
        return json_response({**own, "application_id": None, "token": token})

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read content and embeds, or the body of another product that the suffix names."""
        if request.route == SLACK:
            return SlackProtocol().read(request)
        if request.route == GITHUB:
            return [DoorMessage(payload=read_object(request), preset="github")]
        document = read_body(request).payload
        if not isinstance(document, dict):
            raise BadRequestError("The request body contains invalid JSON.", detail=_NO_JSON)
        content, embeds = text_in(document, "content"), objects_in(document, "embeds")
        for name, found, most in (("content", content, MAX_CONTENT), ("embeds", embeds, MAX_EMBEDS)):
            if len(found) > most:
                raise BadRequestError(f"{name}: Must be {most} or fewer in length.", detail=_INVALID)
        if not (content or embeds or request.files):
            raise BadRequestError("Cannot send an empty message", detail=_EMPTY)
        message = _message(document, content, embeds)
        if not request.files:
            return [message]
        text = message.text if content or embeds else f"You received a file: {names_of_files(request)}"
        return [replace(message, text=text, note=read_body(request).note)]

    def accepted_status(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> int:
        """Return 204, or 200 for senders that wait for the message."""
        return 200 if request.route == SLACK or _waits(request) else 204

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return nothing, or with `wait=true` the message."""
        request = receipt.request
        if request.route == SLACK:
            return FrontResponse(200, b"ok")
        if not _waits(request):
            return FrontResponse(204)
        document = receipt.messages[0].payload
        number = request.path.get("id", "0")
        lists: dict[str, Any] = {name: [] for name in ("attachments", "components", "mentions", "mention_roles")}
        return json_response(
            {
                "id": str(receipt.id),
                "type": 0,
                "content": text_in(document, "content"),
                "channel_id": number,
                "webhook_id": number,
                "author": {"id": number, "username": receipt.door, "avatar": None, "bot": True},
                "embeds": objects_in(document, "embeds"),
                **lists,
                "pinned": False,
                "tts": False,
                "mention_everyone": False,
                "flags": 0,
                "timestamp": timestamp(request.at),
                "edited_timestamp": None,
            }
        )

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return the message and code of an error."""
        if refusal.reason in {RefusalReason.UNKNOWN_TOKEN, RefusalReason.MISSING_TOKEN}:
            return _error(404, "Unknown Webhook", _UNKNOWN_WEBHOOK)
        code = int(refusal.error.detail or 0) if refusal.error else 0
        if code == _INVALID:
            name, _, said = refusal.text.partition(": ")
            wrong = {name: {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": said}]}}
            return json_response({"message": "Invalid Form Body", "code": code, "errors": wrong}, 400)
        return _error(refusal.status, refusal.text, code, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return what to paste into senders."""
        return {
            "any product": f"Discord webhook URL {address.url}",
            "Alertmanager, alertmanager.yml": (
                f"receivers:\n- name: tocsin\n  discord_configs:\n  - webhook_url: {address.url}"
            ),
            "GitHub": f"Webhook with the payload URL {address.url}/github, content type application/json",
            "curl": f'curl --json \'{{"content": "It works"}}\' {address.url}',
        }


def _error(status: int, text: str, code: int, headers: Mapping[str, str] | None = None) -> FrontResponse:
    return json_response({"message": text, "code": code}, status, headers)


def _waits(request: DoorRequest) -> bool:
    return request.query.get("wait", "").lower() in {"true", "1"}


def _message(document: Mapping[str, Any], content: str, embeds: Sequence[Mapping[str, Any]]) -> DoorMessage:
    titles = [(text_in(each, "title"), text_in(each, "url")) for each in embeds]
    title, link = next(((title, url) for title, url in titles if title), ("", ""))
    paragraphs = [content, *(line for each in embeds for line in _paragraphs(each, title))]
    flags = document.get("flags")
    buttons = [inner for row in objects_in(document, "components") for inner in objects_in(row, "components")]
    labels = [(text_in(each, "label"), text_in(each, "url")) for each in buttons if each.get("style") == _LINK_BUTTON]
    silent = {"silent": True} if isinstance(flags, int) and flags & SILENT else {}
    text = _shown("\n\n".join(filter(None, paragraphs)))
    return DoorMessage(
        payload=document,
        title=_shown(title),
        text=text or ("" if title else "(empty)"),
        severity=next(filter(None, map(_severity, embeds)), None),
        link=link or next((url for _, url in titles if url), ""),
        parse_mode=COMMONMARK,
        content={**link_buttons(labels), **silent},
    )


def _paragraphs(embed: Mapping[str, Any], first_title: str) -> Iterator[str]:
    title, url = text_in(embed, "title"), text_in(embed, "url")
    if title and title != first_title:
        yield f"**{title}** {url}".strip()
    author, footer = (_inner(embed, name, key) for name, key in (("author", "name"), ("footer", "text")))
    yield author
    yield text_in(embed, "description")
    facts = [f"**{text_in(each, 'name')}**: {text_in(each, 'value')}" for each in objects_in(embed, "fields")]
    yield "\n".join(facts)
    yield _inner(embed, "image", "url")
    yield footer


def _inner(embed: Mapping[str, Any], name: str, key: str) -> str:
    found = embed.get(name)
    return text_in(found, key) if isinstance(found, dict) else ""


def _severity(embed: Mapping[str, Any]) -> DoorSeverity | None:
    colour = text_in(embed, "color")
    return severity_of_colour(int(colour)) if colour.isdigit() and len(colour) <= 8 else None


def _shown(text: str) -> str:
    """Return a text with mentions, emoji and times as people read them."""

    def spell(found: re.Match[str]) -> str:
        if found["emoji"]:
            return str(found["emoji"])
        if found["time"]:
            return timestamp(float(found["time"])) or ""
        return ("#" if found["sign"] == "#" else "@") + found["id"]

    return _MENTION.sub(spell, text)
