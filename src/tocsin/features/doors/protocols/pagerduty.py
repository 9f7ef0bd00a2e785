"""PagerDuty's Events API v2: triggered, acknowledged and resolved alerts, and changes."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from tocsin.channels.model import PLAIN
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.protocol import (
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    StoredReceipt,
    json_response,
    link_buttons,
    objects_in,
    read_object,
    text_in,
)
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.doors.severity import severity_of
from tocsin.features.front_door import FrontResponse

EVENTS, CHANGES = "/v2/enqueue", "/v2/change/enqueue"
ACTIONS = ("trigger", "acknowledge", "resolve")
SEVERITIES = ("critical", "error", "warning", "info")
MAX_KEY = 255
_SHOWN = ("source", "component", "group", "class")


class PagerDutyProtocol(DoorProtocol):
    """Events about problems that have a key; the routing key is in the body."""

    name: ClassVar[str] = "pagerduty"
    label: ClassVar[str] = "PagerDuty Events v2"
    routes: ClassVar[Sequence[ProtocolRoute]] = (ProtocolRoute(EVENTS), ProtocolRoute(CHANGES))
    max_bytes: ClassVar[int] = 512 * 1024  # of the original

    def mint(self) -> str:
        """Return 32 characters: some clients refuse another length."""
        return secrets.token_hex(16)

    def bytes_for_token(self, request: DoorRequest) -> int:
        """Return the limit of the body, because the routing key is in it."""
        return self.max_bytes

    def token_of(self, request: DoorRequest) -> str:
        """Return the routing key, which some clients also send in a header."""
        if not request.body:
            return request.headers.get("x-routing-key", "")
        document = read_body(request).payload
        return text_in(document, "routing_key") if isinstance(document, dict) else ""

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of events, which has no token."""
        return base_url + EVENTS

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read an event; the key of one that has none is made of it."""
        document = read_object(request)
        payload = document.get("payload")
        facts: Mapping[str, Any] = payload if isinstance(payload, dict) else {}
        is_change = request.route == CHANGES
        action = "change" if is_change else text_in(document, "event_action")
        if errors := list(_errors(document, facts, action)):
            raise BadRequestError("; ".join(errors))
        key = "" if is_change else text_in(document, "dedup_key") or _made_key(document, request.at)
        if action == "acknowledge":
            return [DoorMessage(payload=document, title="acknowledged", key=key, drop=True, note=_ACKNOWLEDGED)]
        summary, is_end = text_in(facts, "summary"), action == "resolve"
        links = [(text_in(each, "text"), text_in(each, "href")) for each in objects_in(document, "links")]
        link = text_in(document, "client_url") or next((url for _, url in links), "")
        return [
            DoorMessage(
                payload=document,
                title=summary or f"Resolved: {key}",
                text=_text(facts, objects_in(document, "images")),
                severity=DoorSeverity.OK if is_end else severity_of(text_in(facts, "severity")),
                key=key,
                link=link,
                parse_mode=PLAIN,
                content=link_buttons((label, url) for label, url in links if url != link),
                takes_over="Resolved" if is_end and not summary else "",
                only_if_open=is_end,
            )
        ]

    def accepted_status(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> int:
        """Return 202, which senders wait for."""
        return 202

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the key: senders that gave none resolve with it."""
        if receipt.request.route == CHANGES:
            return json_response({"status": "success", "message": "Change event processed"}, 202)
        key = receipt.messages[0].key
        return json_response({"status": "success", "message": "Event processed", "dedup_key": key}, 202)

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return the errors; a wrong routing key is answered with 400, not with 401 or 404."""
        reason = "Invalid routing key" if refusal.status in {401, 404} else refusal.text
        document = {"status": "invalid event", "message": "Event object is invalid", "errors": reason.split("; ")}
        status = 400 if refusal.status in {401, 404} else refusal.status
        return json_response(document, status, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return address and key by product."""
        return {
            "Alertmanager, alertmanager.yml": (
                "receivers:\n- name: tocsin\n  pagerduty_configs:\n"
                f"  - url: {address.url}\n    routing_key: {address.token}"
            ),
            "Uptime Kuma": (
                f"Notification of the type PagerDuty\nintegration URL {address.url}\nintegration key {address.token}"
            ),
            "pdpyras, Python": (
                f"session = pdpyras.EventsAPISession('{address.token}')\nsession.url = '{address.base_url}'"
            ),
        }


_ACKNOWLEDGED = "an acknowledgement sends nothing"


def _errors(document: Mapping[str, Any], facts: Mapping[str, Any], action: str) -> Iterator[str]:
    """Yield what is wrong, as the original words it."""
    key = text_in(document, "dedup_key")
    if len(key) > MAX_KEY:
        yield f"'dedup_key' is longer than {MAX_KEY} characters"
    if action == "change":
        if not text_in(facts, "summary"):
            yield "'payload.summary' is missing or blank"
        return
    if action not in ACTIONS:
        yield "'event_action' is missing or not one of trigger, acknowledge, resolve"
    elif action != "trigger":
        if not key:
            yield f"'dedup_key' is required to {action}"
        return
    for name in ("summary", "source"):
        if not text_in(facts, name):
            yield f"'payload.{name}' is missing or blank"
    if text_in(facts, "severity") not in SEVERITIES:
        yield "'payload.severity' is missing or not one of critical, error, warning, info"


def _made_key(document: Mapping[str, Any], at: float) -> str:
    """Return a key for an event without one: the same for the answer and for the message."""
    rest = {name: value for name, value in document.items() if name != "routing_key"}
    return sha256(f"{at!r} {json.dumps(rest, sort_keys=True)}".encode()).hexdigest()[:32]


def _text(facts: Mapping[str, Any], images: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{name}: {text_in(facts, name)}" for name in _SHOWN if text_in(facts, name)]
    details = facts.get("custom_details")
    if isinstance(details, dict):
        for name, value in list(details.items())[:50]:
            said = value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines += [f"{name}:{chr(10) if chr(10) in said else ' '}{said}"] if said else []
    elif details:
        lines.append(str(details))
    return "\n".join([*lines, *(text_in(each, "src") for each in images)])
