"""Alertmanager on both of its sides: its webhook, and the API v2 to which Prometheus and others send alerts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from tocsin.core.text.strings import truncate
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.protocol import (
    MAX_MESSAGES,
    MIB,
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    authorization_token,
    json_response,
)
from tocsin.features.doors.receiving.bodies import parse_json
from tocsin.features.doors.severity import severity_of
from tocsin.features.front_door import FrontResponse

WEBHOOK, ALERTS, STATUS = "/in/{token}", "/api/v2/alerts", "/api/v2/status"
HEALTH = ("/-/healthy", "/-/ready")
MAX_ALERTS = 10_000  # Prometheus sends at most 256 in one request, vmalert more
RESOLVE_TIMEOUT_S = 300.0  # of an alert without an end, as in Alertmanager
_LABELS_SHOWN = 20


class AlertmanagerProtocol(DoorProtocol):
    """Alerts: one message per group of the webhook, one per alert of the API."""

    name: ClassVar[str] = "alertmanager"
    label: ClassVar[str] = "Alertmanager"
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute(WEBHOOK),
        ProtocolRoute(ALERTS),
        ProtocolRoute(STATUS, ("GET",)),
        *(ProtocolRoute(path, ("GET",)) for path in HEALTH),
    )
    max_bytes: ClassVar[int] = 8 * MIB
    preset: ClassVar[str] = "alertmanager"

    def token_of(self, request: DoorRequest) -> str:
        """Return the token of the path, or the bearer token, or the password of Basic."""
        return super().token_of(request) or authorization_token(request)

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of the webhook."""
        return f"{base_url}/in/{token}"

    def aside(self, request: DoorRequest) -> FrontResponse | None:
        """Answer the probes of the original."""
        return FrontResponse(200, b"OK") if request.route in HEALTH else None

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Answer the status that clients of the API ask for."""
        if request.route != STATUS:
            return None
        return json_response({"cluster": {"status": "disabled"}, "versionInfo": {}, "config": {"original": ""}})

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Return a payload of the webhook, of which the preset makes a message, or a message for each alert."""
        try:
            document = parse_json(request.body.decode())
        except ValueError as error:
            raise BadRequestError(f"the body is not valid JSON: {error}") from None
        if request.route != ALERTS:
            if not isinstance(document, dict) or not isinstance(document.get("alerts"), list):
                raise BadRequestError("the body is not that of Alertmanager's webhook: it has no list `alerts`")
            return [DoorMessage(payload=document)]
        if not isinstance(document, list) or not all(isinstance(each, dict) for each in document):
            raise BadRequestError("the body is not a list of alerts")
        if len(document) > MAX_ALERTS:
            raise BadRequestError(f"more than {MAX_ALERTS:,} alerts in one request: send several", status=413)
        wrong = [said for alert in document if (said := _error(alert))]
        note = f"{len(wrong)} of {len(document)} alerts are refused: {'; '.join(list(dict.fromkeys(wrong))[:5])}"
        found = [_message(alert, request.at) for alert in document if not _error(alert)]
        if wrong and not found:
            raise BadRequestError(note)
        return [replace(found[0], note=note), *found[1:]] if wrong else found

    def divided(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> Sequence[DoorRequest]:
        """Return a request for every 256 of the alerts that are valid."""
        if len(messages) <= MAX_MESSAGES:
            return (request,)
        parts = (messages[n : n + MAX_MESSAGES] for n in range(0, len(messages), MAX_MESSAGES))
        return [replace(request, body=json.dumps([each.payload for each in part]).encode()) for part in parts]

    def accepted_status(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> int:
        """Return 400 if only a part of the alerts is valid, as the original; that part is stored."""
        return 400 if messages and messages[0].note else 200

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return an empty 200, or why some alerts are refused, as the original."""
        note = receipt.messages[0].note if receipt.messages else ""
        return json_response(note, 400) if note else FrontResponse(200)

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return the reason as a JSON text, as the original; the API asks for a login, where the path has no token."""
        is_login = refusal.reason is RefusalReason.UNKNOWN_TOKEN and refusal.request.route != WEBHOOK
        return json_response(refusal.text, 401 if is_login else refusal.status, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return the lines for both configuration files."""
        scheme, _, host = address.base_url.partition("://")
        return {
            "Alertmanager, alertmanager.yml": (
                f"receivers:\n- name: tocsin\n  webhook_configs:\n  - url: {address.url}"
            ),
            "Prometheus, prometheus.yml": (
                "alerting:\n  alertmanagers:\n"
                f"  - scheme: {scheme}\n"
                "    authorization: {credentials: " + address.token + "}\n"
                f"    static_configs: [{{targets: ['{host}']}}]"
            ),
            "Grafana": f"Contact point of the type Webhook, URL {address.url}",
        }


def _labels(alert: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of an alert, which identify it; empty ones do not count."""
    labels = alert.get("labels")
    found = labels.items() if isinstance(labels, dict) else ()
    return {str(name): str(value) for name, value in found if value not in (None, "")}


def _error(alert: Mapping[str, Any]) -> str:
    """Return why the original refuses an alert; empty if it does not."""
    if not _labels(alert):
        return "at least one label pair required"
    given = {name: alert.get(name) for name in ("startsAt", "endsAt") if alert.get(name) not in (None, "")}
    if unread := [name for name, text in given.items() if not _is_time(text)]:
        return f"{unread[0]} is not a time of RFC 3339"
    starts_at, ends_at = (_time(given.get(name)) for name in ("startsAt", "endsAt"))
    return "start time must be before end time" if starts_at and ends_at and starts_at > ends_at else ""


def _message(alert: Mapping[str, Any], now: float) -> DoorMessage:
    ends_at = _time(alert.get("endsAt")) or now + RESOLVE_TIMEOUT_S
    is_over = ends_at <= now
    labels, given = _labels(alert), alert.get("annotations")
    annotations: Mapping[str, Any] = given if isinstance(given, dict) else {}
    name = labels.get("alertname", "alert")
    said = str(annotations.get("summary") or annotations.get("message") or "")
    more = str(annotations.get("description") or "")
    others = [f"{key}={value}" for key, value in sorted(labels.items()) if key != "alertname"][:_LABELS_SHOWN]
    lines = [said or more, more if said and more != said else "", ", ".join(others)]
    if runbook := annotations.get("runbook_url"):
        lines.append(str(runbook))
    return DoorMessage(
        payload=alert,
        title=("Resolved: " if is_over else "") + (f"{name}: {labels['instance']}" if "instance" in labels else name),
        text=truncate("\n".join(line for line in lines if line), 4_000),
        severity=DoorSeverity.OK if is_over else severity_of(labels.get("severity")) or DoorSeverity.CRITICAL,
        key="alert " + ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        link=str(alert.get("generatorURL") or ""),
        only_changes=True,
        expires_at=None if is_over else ends_at,
    )


def _time(text: Any) -> float | None:
    """Return a time of RFC 3339 as Unix seconds; `None` for the zero time and for other texts."""
    if not isinstance(text, str) or text.startswith("0001-"):
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.timestamp() if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _is_time(text: Any) -> bool:
    return isinstance(text, str) and (text.startswith("0001-") or _time(text) is not None)
