"""Opsgenie's alerts: created and closed under their alias."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tocsin.channels.model import PLAIN
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    json_response,
    read_object,
    text_in,
)
from tocsin.features.doors.rules.generic import is_link
from tocsin.features.doors.severity import severity_of
from tocsin.features.front_door import FrontResponse

CREATE, CLOSE, ACKNOWLEDGE = "/v2/alerts", "/v2/alerts/{alias:path}/close", "/v2/alerts/{alias:path}/acknowledge"
_PRIORITIES = {
    "P1": DoorSeverity.CRITICAL,
    "P2": DoorSeverity.CRITICAL,
    "P3": DoorSeverity.WARNING,
    "P4": DoorSeverity.INFO,
    "P5": DoorSeverity.INFO,
}


class OpsgenieProtocol(DoorProtocol):
    """Alerts that are created, and closed by their alias."""

    name: ClassVar[str] = "opsgenie"
    label: ClassVar[str] = "Opsgenie"
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute(CREATE),
        ProtocolRoute(CLOSE),
        ProtocolRoute(ACKNOWLEDGE),
    )

    def mint(self) -> str:
        """Return a UUID, the form of an API key."""
        return str(uuid.uuid4())

    def token_of(self, request: DoorRequest) -> str:
        """Return the key after `GenieKey`."""
        scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
        return key.strip() if scheme.lower() == "geniekey" else ""

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the root: senders add the path themselves."""
        return f"{base_url}/"

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read an alert, or its end."""
        alias = request.path.get("alias", "")
        if request.route == ACKNOWLEDGE:
            return [DoorMessage(title="acknowledged", key=alias, drop=True, note="an acknowledgement sends nothing")]
        if request.route == CLOSE:
            document = read_object(request) if request.body.strip() else {}
            return [
                DoorMessage(
                    payload=document,
                    title=f"Resolved: {alias}",
                    text=text_in(document, "note"),
                    severity=DoorSeverity.OK,
                    key=alias,
                    parse_mode=PLAIN,
                    takes_over="Resolved",
                    only_if_open=True,
                )
            ]
        document = read_object(request)
        title = text_in(document, "message")
        if not title:
            raise BadRequestError("Message can not be empty.", status=422, detail="message")
        details, source = document.get("details"), text_in(document, "source")
        facts: Mapping[str, Any] = details if isinstance(details, dict) else {}
        return [
            DoorMessage(
                payload=document,
                title=title,
                text=_text(document, facts),
                severity=_severity(document, facts),
                key=text_in(document, "alias"),
                link=source if is_link(source) else "",
                parse_mode=PLAIN,
            )
        ]

    def accepted_status(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> int:
        """Return 202, as the original."""
        return 202

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the number of the request in the form of a UUID."""
        number = str(uuid.UUID(int=receipt.id))
        return json_response({"result": "Request will be processed", "took": 0.001, "requestId": number}, 202)

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return an error; a wrong key is one that is missing."""
        document: dict[str, Any] = {"message": refusal.text, "took": 0.001, "requestId": str(uuid.uuid4())}
        if refusal.reason in {RefusalReason.UNKNOWN_TOKEN, RefusalReason.MISSING_TOKEN}:
            return json_response({**document, "message": "Could not authenticate"}, 401)
        if refusal.error and refusal.error.detail:
            said = "Request body is not processable. Please check the errors."
            document = {**document, "message": said, "errors": {str(refusal.error.detail): refusal.text}}
        return json_response(document, refusal.status, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return address and key by product."""
        return {
            "Alertmanager, alertmanager.yml": (
                "receivers:\n- name: tocsin\n  opsgenie_configs:\n"
                f"  - api_url: {address.url}\n    api_key: {address.token}"
            ),
            "others": f"API URL {address.url}\nAPI key {address.token}",
        }


def _severity(document: Mapping[str, Any], facts: Mapping[str, Any]) -> DoorSeverity:
    """Return the severity of the priority; Alertmanager sends none, but the labels."""
    given = _PRIORITIES.get(text_in(document, "priority"))
    return given or severity_of(facts.get("severity")) or DoorSeverity.WARNING  # P3 is the default of the original


def _text(document: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    description = text_in(document, "description")
    lines = [description] if description else [f"{name}: {value}" for name, value in list(facts.items())[:50]]
    tags = document.get("tags")
    if isinstance(tags, list) and tags:
        lines.append("Tags: " + ", ".join(map(str, tags[:20])))
    return "\n".join(lines)
