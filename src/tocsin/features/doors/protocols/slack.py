"""Incoming webhooks of Slack and Mattermost: texts, blocks and attachments."""

import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.mrkdwn import has_marks, rich_text, to_markdown, to_plain
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    link_buttons,
    objects_in,
    text_in,
)
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.doors.severity import severity_of_colour
from tocsin.features.front_door import FrontResponse

HOOKS, SERVICES = "/hooks/{token:path}", "/services/{token:path}"
_CAPITALS = string.ascii_uppercase + string.digits
_PART = 11  # characters of the first and of the second part of a path below /services/
_COLOURS = {"good": DoorSeverity.OK, "warning": DoorSeverity.WARNING, "danger": DoorSeverity.CRITICAL}
_ERRORS = {
    RefusalReason.UNKNOWN_TOKEN: "invalid_token",
    RefusalReason.MISSING_TOKEN: "no_service",
    RefusalReason.WRONG_SOURCE: "action_prohibited",
    RefusalReason.WRONG_SIGNATURE: "invalid_token",
    RefusalReason.TOO_MANY: "rate_limited",
}
_STATUSES = {RefusalReason.UNKNOWN_TOKEN: 403, RefusalReason.MISSING_TOKEN: 404, RefusalReason.WRONG_SIGNATURE: 403}


class SlackProtocol(DoorProtocol):
    """A POST of `text`, `blocks` or `attachments`, answered with `ok`."""

    name: ClassVar[str] = "slack"
    label: ClassVar[str] = "Slack"
    routes: ClassVar[Sequence[ProtocolRoute]] = (ProtocolRoute(HOOKS), ProtocolRoute(SERVICES))

    def mint(self) -> str:
        """Return a token of letters and digits that is also the three parts of a path below `/services/`."""
        first, second = ("".join(secrets.choice(_CAPITALS) for _ in range(_PART - 1)) for _ in range(2))
        third = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(24))
        return f"T{first}B{second}{third}"

    def token_of(self, request: DoorRequest) -> str:
        """Return the path, whose slashes do not count."""
        return super().token_of(request).replace("/", "")

    def secrets_in(self, token: str) -> Sequence[str]:
        """Return the token, with and without slashes."""
        return token, _path(token)

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the form that Mattermost's senders check."""
        return f"{base_url}/hooks/{token}"

    def further_urls(self, base_url: str, token: str) -> Mapping[str, str]:
        """Return the form that Slack's senders check."""
        return {"services_url": f"{base_url}/services/{_path(token)}"}

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read the document; `blocks` replace `text`, as in the original."""
        body = read_body(request)
        if not isinstance(body.payload, dict):
            raise BadRequestError("invalid_payload")
        document = body.payload
        text, blocks, attachments = (document.get(name) for name in ("text", "blocks", "attachments"))
        if not (text or blocks or attachments):
            raise BadRequestError("no_text")
        is_mrkdwn = request.route == SERVICES or bool(blocks) or has_marks(str(document))
        reader = _Reader(to_markdown if is_mrkdwn else str)
        reader.read(document)
        plain = document.get("mrkdwn") is False and not (blocks or attachments)
        message = DoorMessage(
            payload=document,
            title=reader.title,
            text="\n\n".join(reader.paragraphs) or ("" if reader.title else "(empty)"),
            severity=reader.severity,
            link=reader.link,
            parse_mode=PLAIN if plain else COMMONMARK,
            content=link_buttons(reader.buttons),
            note=body.note,
        )
        return [message]

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return `ok` as text: some senders tell an incoming webhook by an answer that is not JSON."""
        return FrontResponse(200, b"ok")

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return the code of an error as text."""
        said = str(refusal.error) if refusal.error else _ERRORS.get(refusal.reason, "invalid_payload")
        if refusal.status >= 500 and refusal.reason is not RefusalReason.TOO_MANY:
            said = "rollup_error"
        return FrontResponse(_STATUSES.get(refusal.reason, refusal.status), said.encode(), headers=refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return what to paste into senders of both products."""
        return {
            "Slack's senders, slack-sdk": f"Webhook URL {address.services_url}",
            "Mattermost's senders, Rocket.Chat's": f"Webhook URL {address.url}",
            "Alertmanager, alertmanager.yml": (
                f"receivers:\n- name: tocsin\n  slack_configs:\n  - api_url: {address.services_url}\n"
                "    channel: tocsin\n    send_resolved: true"
            ),
            "Grafana": f"Contact point of the type Slack, webhook URL {address.services_url}",
            "curl": f'curl -d \'{{"text": "It works"}}\' {address.url}',
        }


@dataclass(slots=True)
class _Reader:
    """Collects what a document shows."""

    convert: Any  # of a text with marks to Markdown
    title: str = ""
    link: str = ""
    severity: DoorSeverity | None = None
    paragraphs: list[str] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def read(self, document: Mapping[str, Any]) -> None:
        """Read the whole document."""
        before = len(self.paragraphs)
        for block in objects_in(document, "blocks"):
            self._block(block)
        if len(self.paragraphs) == before and not self.title:
            self._say(self.convert(text_in(document, "text")))
        for attachment in objects_in(document, "attachments"):
            self._attachment(attachment)

    def _say(self, text: str) -> None:
        if text.strip():
            self.paragraphs.append(text.strip())

    def _head(self, title: str, link: str = "") -> None:
        """Take the first title for that of the message; further ones are paragraphs."""
        if title and not self.title:
            self.title, self.link = title, self.link or link
        elif title:
            self._say(f"**{title}**" + (f" {link}" if link else ""))

    def _text(self, found: Any) -> str:
        """Return a text object as Markdown."""
        if not isinstance(found, dict):
            return ""
        said = text_in(found, "text")
        return to_plain(said) if found.get("type") == "plain_text" else self.convert(said)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "header":
                self._head(self._text(block.get("text")))
            case "section":
                self._say(self._text(block.get("text")))
                self._say("\n".join(filter(None, map(self._text, objects_in(block, "fields")))))
                self._buttons([block["accessory"]] if isinstance(block.get("accessory"), dict) else [])
            case "context":
                self._say(" ".join(filter(None, map(self._text, objects_in(block, "elements")))))
            case "actions":
                self._buttons(objects_in(block, "elements"))
            case "image":
                self._say(" ".join(filter(None, (text_in(block, "alt_text"), text_in(block, "image_url")))))
            case "markdown":
                self._say(text_in(block, "text"))
            case "rich_text":
                self._say(rich_text(block))

    def _buttons(self, elements: Sequence[Mapping[str, Any]]) -> None:
        for each in elements:
            label = each.get("text")
            said = text_in(label, "text") if isinstance(label, dict) else text_in(each, "text")
            self.buttons.append((to_plain(said), text_in(each, "url")))

    def _attachment(self, attachment: Mapping[str, Any]) -> None:
        before = len(self.paragraphs), self.title
        self._say(self.convert(text_in(attachment, "pretext")))
        self._head(to_plain(text_in(attachment, "title")), text_in(attachment, "title_link"))
        self._say(self.convert(text_in(attachment, "text")))
        facts = [
            f"**{to_plain(text_in(each, 'title'))}**: {self.convert(text_in(each, 'value'))}"
            for each in objects_in(attachment, "fields")
        ]
        self._say("\n".join(facts))
        for block in objects_in(attachment, "blocks"):
            self._block(block)
        self._say(text_in(attachment, "image_url"))
        self._buttons(objects_in(attachment, "actions"))
        self.severity = self.severity or _severity(text_in(attachment, "color"))
        if before == (len(self.paragraphs), self.title):
            self._say(self.convert(text_in(attachment, "fallback")))


def _path(token: str) -> str:
    return "/".join((token[:_PART], token[_PART : 2 * _PART], token[2 * _PART :]))


def _severity(colour: str) -> DoorSeverity | None:
    if colour in _COLOURS:
        return _COLOURS[colour]
    digits = colour.removeprefix("#")
    is_hex = len(digits) == 6 and set(digits) <= set(string.hexdigits)
    return severity_of_colour(int(digits, 16)) if is_hex else None
