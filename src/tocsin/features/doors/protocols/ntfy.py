"""ntfy's publishing: to a topic by PUT, POST or GET, or as JSON to the root."""

import base64
import binascii
import re
import secrets
import string
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.core.text.strings import storable
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.protocols.ntfy_fields import (
    NtfyAction,
    actions_of,
    is_on,
    is_template,
    priority_of,
    read_fields,
    tags_of,
    time_of,
)
from tocsin.features.doors.protocols.protocol import (
    MIB,
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    authorization_token,
    json_response,
    link_buttons,
    names_of_files,
)
from tocsin.features.doors.receiving.bodies import media_type, parse_json, read_body
from tocsin.features.doors.rules.generic import is_link
from tocsin.features.front_door import FrontResponse

ROOT, TOPIC, SEQUENCE = "/", "/{topic}", "/{topic}/{sequence}"
BY_QUERY = ("/{topic}/publish", "/{topic}/send", "/{topic}/trigger")
AS_READ = ("/{topic}/{sequence}/clear", "/{topic}/{sequence}/read")
AFTERWARDS = (*AS_READ, "/{topic}/{sequence}/delete")
MAX_JSON_BYTES = 128 * 1024
MAX_TEXT_BYTES = 64 * 1024  # what is larger is a file
KEPT_S = 12 * 3_600  # what the answer says; the original keeps messages for readers
TEMPLATES = ("github", "grafana", "alertmanager")  # names that are presets here
_TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")
_MINTED = re.compile(r".*-([A-Za-z0-9]{16})", re.DOTALL)
_LETTERS = string.ascii_letters + string.digits
_SECRET_CHARS = 16
_SEVERITIES = {4: DoorSeverity.WARNING, 5: DoorSeverity.CRITICAL}
_REFUSALS = {
    RefusalReason.UNKNOWN_TOKEN: (401, 40_101, "unauthorized"),
    RefusalReason.MISSING_TOKEN: (403, 40_301, "forbidden"),
    RefusalReason.WRONG_SOURCE: (403, 40_301, "forbidden"),
    RefusalReason.WRONG_SIGNATURE: (401, 40_101, "unauthorized"),
    RefusalReason.TOO_LARGE: (413, 41_301, "attachment too large, or bandwidth limit reached"),
}
_OPEN = {"Access-Control-Allow-Origin": "*"}
_PREFLIGHT = {"Access-Control-Allow-Methods": "GET, PUT, POST, PATCH, DELETE", "Access-Control-Allow-Headers": "*"}


class NtfyProtocol(DoorProtocol):
    """Messages to the topic of the door, with a token; or to a topic that has the secret in its name."""

    name: ClassVar[str] = "ntfy"
    label: ClassVar[str] = "ntfy"
    max_bytes: ClassVar[int] = 16 * MIB  # without a length and a name in its headers; the original takes 15 MB
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute("/v1/health", ("GET",)),
        ProtocolRoute(ROOT, ("POST", "PUT", "OPTIONS")),
        ProtocolRoute(TOPIC, ("GET", "POST", "PUT", "OPTIONS")),
        *(ProtocolRoute(path, ("GET",)) for path in BY_QUERY),
        ProtocolRoute(SEQUENCE, ("GET", "POST", "PUT", "DELETE")),
        *(ProtocolRoute(path, ("GET", "PUT")) for path in AFTERWARDS),
    )

    def mint(self) -> str:
        """Return `tk_` and 29 characters: 16 random ones, which are also the end of a topic, and their checksum."""
        return _whole("".join(secrets.choice(_LETTERS) for _ in range(_SECRET_CHARS)))

    def bytes_for_token(self, request: DoorRequest) -> int:
        """Return the largest JSON at the root: the topic is in it."""
        return MAX_JSON_BYTES if request.route == ROOT else 0

    def token_of(self, request: DoorRequest) -> str:
        """Return the token of `?auth=` or of Authorization, or the one that the topic stands for."""
        if _logs_in(request):
            return _authorized(request) or "-"
        minted = _MINTED.fullmatch(_topic(request))
        return _whole(minted[1]) if minted else ""

    def file_name(self, request: DoorRequest) -> str | None:
        """Return the name that the sender gives the body, or one for a body that is too large for a text."""
        if request.method not in {"POST", "PUT"} or request.route == ROOT:
            return None
        fields = read_fields(request, None)
        if fields.get("attach") or is_template(fields):
            return None
        length = request.headers.get("content-length", "")
        is_large = length.isdecimal() and len(length) < 16 and int(length) > MAX_TEXT_BYTES
        return str(fields.get("filename") or ("attachment" if is_large else "")) or None

    def is_file(self, request: DoorRequest) -> bool:
        """Whether the body of a message is too large for a text, or none."""
        if request.route == ROOT or (len(request.body) <= MAX_TEXT_BYTES and _text(request.body) is not None):
            return False
        fields = read_fields(request, None)
        return not (fields.get("attach") or is_template(fields))

    def secrets_in(self, token: str) -> Sequence[str]:
        """Return the token, and the end of the topic."""
        return token, _secret_of(token)

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address of the topic that needs no token."""
        return f"{base_url}/{_minted_topic(door, token)}"

    def aside(self, request: DoorRequest) -> FrontResponse | None:
        """Answer what needs no token: the state of the server, and the pages and streams that are not there."""
        if request.route == "/v1/health":
            return json_response({"healthy": True}, headers=_OPEN)
        if request.method == "OPTIONS":
            return FrontResponse(200, headers={**_OPEN, **_PREFLIGHT})
        if request.route == ROOT and not _logs_in(request):
            return _topic_error(request)
        if request.method == "GET" and request.route in {TOPIC, SEQUENCE}:
            return _error(404, 40_401, "page not found")
        return None

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Refuse topics that do not belong to the door."""
        if error := _topic_error(request):
            return error
        topic = _topic(request)
        minted = _MINTED.fullmatch(topic)
        is_own = topic == door or (minted is not None and topic == f"{door[:_NAME_CHARS]}-{minted[1]}")
        return None if is_own else _error(403, 40_301, "forbidden")

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read a message: JSON at the root, else text or a file with fields in headers and the query."""
        sequence = request.path.get("sequence", "")
        if request.route in AFTERWARDS or request.method == "DELETE":
            return [_change(sequence, is_read=request.route in AS_READ)]
        document = _document(request) if request.route in {ROOT, ""} else None
        fields = read_fields(request, document)
        sequence = sequence or str(fields.get("sequence_id", ""))
        if sequence and not _TOPIC.fullmatch(sequence):
            raise BadRequestError("invalid request: sequence ID invalid", detail=40_049)
        _check_links(fields, request)
        priority, actions = priority_of(fields.get("priority")), actions_of(fields.get("actions"))
        if actions:
            fields["actions"] = [each.shown(n) for n, each in enumerate(actions)]
        fields |= {"tags": tags_of(fields.get("tags"))}
        if priority is not None:
            fields["priority"] = priority
        if sequence:
            fields["sequence_id"] = sequence
        has_template, template = is_template(fields), str(fields.pop("template", "")).lower()
        message = DoorMessage(
            payload=fields,
            severity=None if priority is None else _SEVERITIES.get(priority, DoorSeverity.INFO),
            key=sequence,
            not_before=time_of(fields.get("delay"), request.at),
        )
        if has_template:
            return [_templated(request, message, template)]
        return [_finished(request, message, fields, actions, is_json=document is not None)]

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the message as readers of the original would get it."""
        [message] = receipt.messages
        route, fields = receipt.request.route, {} if message.preset else message.payload
        at = int(message.not_before or receipt.request.at)
        own = {"id": f"{receipt.id:012d}", "time": at, "event": "message", "topic": _topic(receipt.request)}
        if route in AFTERWARDS or receipt.request.method == "DELETE":
            event = "message_clear" if route in AS_READ else "message_delete"
            return json_response({**own, "event": event, **message.payload}, headers=_OPEN)
        own |= {"expires": at + KEPT_S, "message": fields.get("message") or "triggered"}
        names = ("sequence_id", "title", "priority", "tags", "click", "icon", "actions")
        own |= {name: fields[name] for name in names if fields.get(name)}
        if message.parse_mode == COMMONMARK:
            own["content_type"] = "text/markdown"
        if file := _attachment(receipt.request, fields, at):
            own["attachment"] = file
        return json_response(own, headers=_OPEN)

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return an error with its code."""
        if refusal.error:
            return _error(refusal.status, int(refusal.error.detail or 40_000), str(refusal.error))
        if refusal.reason is RefusalReason.TOO_LARGE and refusal.request.route == ROOT:
            return _error(413, 41_303, "JSON body too large")
        if refusal.reason is RefusalReason.UNKNOWN_TOKEN and not _logs_in(refusal.request):
            return _error(403, 40_301, "forbidden")
        status, code, text = _REFUSALS.get(
            refusal.reason, (refusal.status, refusal.status * 100 + 1, f"{refusal.text}, try again later")
        )
        return _error(status, code, text, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return server, topic and token by product."""
        scheme, _, place = address.base_url.partition("://")
        topic = address.url.rpartition("/")[2]
        return {
            "Uptime Kuma, Sonarr, Home Assistant, Proxmox's scripts": (
                f"ntfy server {address.base_url}\ntopic {topic}, without a token\n"
                f"or: topic {address.name}, access token {address.token}"
            ),
            "Apprise": f"{'ntfys' if scheme == 'https' else 'ntfy'}://{place}/{topic}",
            "ntfy's command": f"NTFY_TOKEN={address.token} ntfy publish {address.base_url}/{address.name} 'It works'",
            "curl": f"curl -d 'It works' {address.url}",
        }


_NAME_CHARS = 64 - 1 - _SECRET_CHARS  # of a door in the name of a topic


def _whole(secret: str) -> str:
    return f"tk_{secret}{sha256(secret.encode()).hexdigest()[:13]}"


def _secret_of(token: str) -> str:
    return token[3 : 3 + _SECRET_CHARS]


def _minted_topic(door: str, token: str) -> str:
    return f"{door[:_NAME_CHARS]}-{_secret_of(token)}"


def _logs_in(request: DoorRequest) -> bool:
    return bool(request.query.get("auth") or request.headers.get("authorization"))


def _authorized(request: DoorRequest) -> str:
    """Return the token of Bearer, or the password of Basic; the parameter `auth` has a whole header in base64."""
    given = request.query.get("auth", "")
    if not given:
        return authorization_token(request)
    try:
        header = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
    return authorization_token(DoorRequest(headers={"authorization": header}))


def _topic(request: DoorRequest) -> str:
    return request.path.get("topic") or str((_document(request) or {}).get("topic", ""))


def _topic_error(request: DoorRequest) -> FrontResponse | None:
    """Return the answer to a request without a valid topic."""
    if request.route == ROOT and _document(request) is None:
        return _error(400, 40_017, "invalid request: request body must be message JSON")
    return None if _TOPIC.fullmatch(_topic(request)) else _error(400, 40_009, "invalid request: topic invalid")


def _check_links(fields: Mapping[str, Any], request: DoorRequest) -> None:
    """Raise BadRequestError for addresses of files or pictures that are none, and for a text that is not UTF-8."""
    if fields.get("attach") and not is_link(fields["attach"]):
        raise BadRequestError("invalid request: attachment URL is invalid", detail=40_013)
    if fields.get("icon") and not is_link(fields["icon"]):
        raise BadRequestError("invalid request: icon URL is invalid", detail=40_021)
    if fields.get("attach") and _text(request.body) is None:
        raise BadRequestError("invalid message: message must be UTF-8 encoded", detail=40_011)


def _attachment(request: DoorRequest, fields: Mapping[str, Any], at: int) -> Mapping[str, Any]:
    """Return the file of a message, which only its targets can read, or the address that the sender names."""
    if attach := str(fields.get("attach", "")):
        name = str(fields.get("filename") or urlsplit(attach).path.rpartition("/")[2] or "attachment")
        return {"name": name, "url": attach}
    stored = next((each for each in request.files if "hash" in each), None)
    if stored is None:
        return {}
    return {
        "name": stored["name"],
        "type": stored.get("type", ""),
        "size": stored["size"],
        "expires": at + KEPT_S,
        "url": "",
    }


def _document(request: DoorRequest) -> Mapping[str, Any] | None:
    """Return the JSON of a request to the root."""
    if request.route not in {ROOT, ""} or not request.body:
        return None
    try:
        found = parse_json(request.body.decode())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _templated(request: DoorRequest, message: DoorMessage, template: str) -> DoorMessage:
    """Return the body as a payload for the preset that a template names."""
    if template not in TEMPLATES:
        said = f"invalid request: only the templates {', '.join(TEMPLATES)} are known; write a rule for others"
        raise BadRequestError(said, detail=40_043)
    try:
        payload = parse_json(request.body.decode())
    except ValueError:
        raise BadRequestError("invalid request: message must be JSON", detail=40_042) from None
    return _with_payload(message, payload, template)


def _with_payload(message: DoorMessage, payload: Any, preset: str) -> DoorMessage:
    return DoorMessage(
        payload=payload, preset=preset, severity=message.severity, key=message.key, not_before=message.not_before
    )


def _change(sequence: str, *, is_read: bool) -> DoorMessage:
    """Return what marks an earlier message as read, by an edit alone, or what withdraws it."""
    payload = {"sequence_id": sequence}
    if not is_read:
        return DoorMessage(payload=payload, title="deleted", key=sequence, withdraw=True)
    return DoorMessage(
        payload=payload,
        title="Cleared",
        severity=DoorSeverity.OK,
        key=sequence,
        takes_over="Cleared",
        only_if_open=True,
        content={"unable": "skip", "if_gone": "drop"},
    )


def _finished(
    request: DoorRequest,
    message: DoorMessage,
    fields: dict[str, Any],
    actions: Sequence[NtfyAction],
    *,
    is_json: bool,
) -> DoorMessage:
    """Return the message with its text."""
    said = str(fields.get("message", ""))
    text, file = (said if is_json else said.replace("\\n", "\n")), names_of_files(request)
    if not is_json and request.body:
        text = _text(request.body) or text
    link, attach = str(fields.get("click", "")), str(fields.get("attach", ""))
    fallback = f"You received a file: {file or fields.get('filename') or attach}" if file or attach else "triggered"
    lines = [text.strip() or fallback]
    if fields["tags"]:
        lines.append("Tags: " + ", ".join(fields["tags"]))
    lines += [each for each in (attach, "" if is_link(link) else link) if each]
    views = [(each.label, each.url) for each in actions if each.kind == "view"]
    lines += [f"{each.label}: {each.url}" for each in actions if each.kind == "copy" and each.url]
    others = [f"{each.label} ({each.kind})" for each in actions if each.kind in {"http", "broadcast"}]
    notes = [read_body(request).note] if request.files else []
    if others:
        notes.append(f"actions that would act elsewhere are not sent: {', '.join(others)}")
    is_markdown = is_on(fields.get("markdown")) or media_type(request) == "text/markdown"
    quiet = {"priority": fields["priority"]} if fields.get("priority") in {1, 2} else {}
    return DoorMessage(
        payload={**fields, "message": lines[0]},
        title=str(fields.get("title", "")),
        text="\n".join(lines),
        severity=message.severity,
        key=message.key,
        link=link,
        parse_mode=COMMONMARK if is_markdown else PLAIN,
        content={**link_buttons(views), **quiet},
        not_before=message.not_before,
        note="; ".join(filter(None, notes)),
    )


def _text(body: bytes) -> str | None:
    """Return a body as text, `None` for a file."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else storable(text).strip()


def _error(status: int, code: int, text: str, headers: Mapping[str, str] | None = None) -> FrontResponse:
    document = {"code": code, "http": status, "error": text, "link": "https://ntfy.sh/docs/publish/"}
    return json_response(document, status, {**_OPEN, **(headers or {})})
