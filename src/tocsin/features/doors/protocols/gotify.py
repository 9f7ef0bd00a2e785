"""Gotify's `POST /message`."""

import secrets
import string
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.core.time.timestamps import timestamp
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    authorization_token,
    json_response,
    read_object,
    text_in,
)
from tocsin.features.doors.receiving.bodies import media_type
from tocsin.features.doors.rules.generic import is_link
from tocsin.features.front_door import FrontResponse

MESSAGE = "/message"
_LETTERS = string.ascii_letters + string.digits
_UNAUTHORIZED = "you need to provide a valid access token or user credentials to access this api"


class GotifyProtocol(DoorProtocol):
    """Messages with title, text, priority and extras; the token is that of an application."""

    name: ClassVar[str] = "gotify"
    label: ClassVar[str] = "Gotify"
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute(MESSAGE, ("GET", "POST")),
        ProtocolRoute("/stream", ("GET",)),
        ProtocolRoute("/version", ("GET",)),
    )

    def mint(self) -> str:
        """Return 15 characters that begin with `A`: some clients refuse others."""
        return "A" + "".join(secrets.choice(_LETTERS) for _ in range(14))

    def token_of(self, request: DoorRequest) -> str:
        """Return the token of the query, of the header, or of Authorization, in the order of the original."""
        given = request.query.get("token") or request.headers.get("x-gotify-key", "").strip()
        return given or authorization_token(request)

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of the server: clients add the path and the token."""
        return base_url

    def aside(self, request: DoorRequest) -> FrontResponse | None:
        """Answer the version, and refuse what only readers of messages may do."""
        if request.route == "/version":
            return json_response({"version": "3.0.0", "commit": "unknown", "buildDate": "2026-01-01"})
        if request.method != "POST":
            return _error(403, "you are not allowed to access this api")
        return None

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read a body of JSON or of a form, or the query."""
        document = read_object(request) if request.body.strip() else {}
        if "json" not in media_type(request):  # of a form, the rest may be in the query
            document = {**{name: value for name, value in request.query.items() if name != "token"}, **document}
        text = text_in(document, "message")
        if not text:
            raise BadRequestError("Field 'message' is required")
        extras = document.get("extras")
        display, notification = (_extra(extras, name) for name in ("client::display", "client::notification"))
        click = notification.get("click")
        image = text_in(notification, "bigImageUrl")
        return [
            DoorMessage(
                payload=document,
                title=text_in(document, "title"),
                text=f"{text}\n{image}" if is_link(image) else text,
                severity=_severity(_priority(document)),
                link=text_in(click, "url") if isinstance(click, dict) else "",
                parse_mode=COMMONMARK if display.get("contentType") == "text/markdown" else PLAIN,
            )
        ]

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the message, with the defaults of its application: the door."""
        [message] = receipt.messages
        answer = {
            "id": receipt.id,
            "appid": 1,
            "message": message.text,
            "title": message.title or receipt.door,
            "priority": _priority(message.payload) or 0,
            "date": timestamp(receipt.request.at),
        }
        extras = message.payload.get("extras")
        return json_response({**answer, "extras": extras} if isinstance(extras, dict) else answer)

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return an error; a wrong token is one that is missing."""
        if refusal.reason in {RefusalReason.UNKNOWN_TOKEN, RefusalReason.MISSING_TOKEN}:
            return _error(401, _UNAUTHORIZED)
        return _error(refusal.status, refusal.text, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return server and token by product."""
        scheme, _, place = address.base_url.partition("://")
        return {
            "Proxmox VE, Uptime Kuma, Jellyfin, Sonarr": (
                f"Notification of the type Gotify\nserver URL {address.base_url}\ntoken {address.token}"
            ),
            "Apprise": f"{'gotifys' if scheme == 'https' else 'gotify'}://{place}/{address.token}",
            "Watchtower, Beszel": (
                f"gotify://{place}/{address.token}" + ("" if scheme == "https" else "?disabletls=yes")
            ),
            "curl": f"curl -H 'X-Gotify-Key: {address.token}' -d 'message=It works' {address.base_url}/message",
        }


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> FrontResponse:
    document = {"error": HTTPStatus(status).phrase, "errorCode": status, "errorDescription": text}
    return json_response(document, status, headers)


def _extra(extras: Any, name: str) -> Mapping[str, Any]:
    found = extras.get(name) if isinstance(extras, dict) else None
    return found if isinstance(found, dict) else {}


def _priority(document: Mapping[str, Any]) -> int | None:
    """Return the priority, in forms a text; raises BadRequestError."""
    given = text_in(document, "priority")
    if not given:
        return None
    try:
        return int(given)
    except ValueError:
        raise BadRequestError("Field 'priority' must be an integer") from None


def _severity(priority: int | None) -> DoorSeverity | None:
    """Return the severity of a band of the Android app."""
    if priority is None:
        return None
    if priority >= 8:
        return DoorSeverity.CRITICAL
    return DoorSeverity.WARNING if priority >= 4 else DoorSeverity.INFO
