"""The API server of Apprise: `POST /notify`, with the key in a header or in the path."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tocsin.channels.attached import MAX_FILES
from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.core.time.timestamps import timestamp
from tocsin.features.doors.model import DoorAddress, DoorFile, DoorMessage, DoorRequest
from tocsin.features.doors.protocols.protocol import (
    MIB,
    BadRequestError,
    DoorProtocol,
    ProtocolRoute,
    Refusal,
    RefusalReason,
    StoredReceipt,
    json_response,
    names_of_files,
    text_in,
)
from tocsin.features.doors.receiving.bodies import media_type, read_body
from tocsin.features.doors.receiving.html import html_to_markdown
from tocsin.features.doors.rules.generic import is_link
from tocsin.features.doors.severity import severity_of
from tocsin.features.front_door import FrontResponse

KEY_HEADER = "x-apprise-config-id"
TYPES, FORMATS = ("info", "success", "warning", "failure"), ("text", "markdown", "html")
MAX_RECURSION = 1  # APPRISE_RECURSION_MAX of the original
MAX_TAGS = 100
MAX_STEPS = 5  # of a path that the query maps
_CONFIGURATION = ("/add/{key:path}", "/del/{key:path}", "/get/{key:path}", "/cfg/{key:path}")
_STATUS, _DETAILS = ("/status", "/status/"), ("/details", "/details/")
_URLS = "/json/urls/{token:path}"
_FILES = ("attach", "attachment", "attachments")
_TAG = re.compile(r"(?:\d{1,3}:)?([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})(?::\d{1,3})?")
_MAPPED = re.compile(r"[A-Za-z0-9_-]+(?:\[\d{1,3}\])?(?:\.[A-Za-z0-9_-]+(?:\[\d{1,3}\])?)*")


class AppriseProtocol(DoorProtocol):
    """Messages with title, body, type and format; the key names the door."""

    name: ClassVar[str] = "apprise"
    label: ClassVar[str] = "Apprise API"
    routes: ClassVar[Sequence[ProtocolRoute]] = (
        ProtocolRoute("/notify"),
        ProtocolRoute("/notify/{token:path}"),
        ProtocolRoute(_URLS, ("GET",)),
        *(ProtocolRoute(path, ("GET",)) for path in (*_STATUS, *_DETAILS)),
        *(ProtocolRoute(path, ("GET", "POST")) for path in _CONFIGURATION),
    )
    max_bytes: ClassVar[int] = 16 * MIB  # of JSON, in which files are Base64

    def token_of(self, request: DoorRequest) -> str:
        """Return the key: the path before the header, as the original."""
        return super().token_of(request).rstrip("/") or request.headers.get(KEY_HEADER, "").strip()

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address for senders that speak HTTP themselves."""
        return f"{base_url}/notify/{token}"

    def further_urls(self, base_url: str, token: str) -> Mapping[str, str]:
        """Return the address for senders that embed Apprise."""
        scheme, _, place = base_url.partition("://")
        return {"apprise_url": f"{'apprises' if scheme == 'https' else 'apprise'}://{place}/{token}"}

    def aside(self, request: DoorRequest) -> FrontResponse | None:
        """Answer what needs no key, as a server whose configuration is locked."""
        wants_json = "application/json" in request.headers.get("accept", "")
        if request.route in _CONFIGURATION:
            return _error(403, "The configuration is locked: doors are added by `tocsin doors add`")
        if request.route in _DETAILS:
            return json_response({"version": "2.2.0", "schemas": []})
        if request.route not in _STATUS:
            return None
        status = {"can_write_config": False, "can_write_attach": False, "details": ["OK"]}
        document = {"config_lock": True, "attach_lock": False, "stateful_enabled": True}
        limits = {"max_attachments": MAX_FILES, "attach_size": self.max_bytes // MIB}
        return json_response({**document, **limits, "status": status}) if wants_json else FrontResponse(200, b"OK")

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Answer the list of addresses, and refuse a message that comes back from an Apprise server."""
        if request.route == _URLS:
            own = {"id": door, "service_name": "Tocsin", "enabled": True, "url": f"tocsin://{door}"}
            more = {"retry": 0, "optional": False, "tags": [], "tag_details": []}
            return json_response({"tags": [], "urls": [{**own, **more}]})
        count = request.headers.get("x-apprise-recursion-count", "0").strip()
        if count.isdigit() and int(count[:9]) > MAX_RECURSION:
            return _error(406, "The recursion limit has been reached")
        return None

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read title, body, type and format of the body, else of the query."""
        fields = _fields(request)
        files, links = _files(fields)
        names = names_of_files(request, *(each.name for each in files))
        said = {name: text_in(fields, name) or text_in(request.query, name) for name in ("title", "body")}
        if not (said["body"] or names or links):
            raise BadRequestError("Payload lacks minimum requirements")
        kind = _choice(fields, request, "type", TYPES)
        form = _choice(fields, request, "format", FORMATS) or "text"
        body = html_to_markdown(said["body"]) if form == "html" else said["body"]
        return [
            DoorMessage(
                payload=fields,
                title=said["title"],
                text="\n".join([body, *links]).strip() or f"You received a file: {names}",
                severity=severity_of(kind),
                parse_mode=PLAIN if form == "text" else COMMONMARK,
                files=files,
                tags=_tags(fields, request),
                note=read_body(request).note if request.files else "",
            )
        ]

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the log of the request: exactly 200, since some senders take all else for a failure."""
        said = f"Stored for the door {receipt.door} as request {receipt.id}"
        at = timestamp(receipt.request.at)
        accept = receipt.request.headers.get("accept", "*/*")
        is_json = "json" in media_type(receipt.request) and "*/*" in accept
        if is_json or "application/json" in accept:
            return json_response({"error": None, "details": [["INFO", at, said]]})
        return FrontResponse(200, f"{at} - INFO - {said}".encode())

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return an error with a body, which senders parse."""
        match refusal.reason:
            case RefusalReason.UNKNOWN_TOKEN if refusal.request.route == _URLS:
                return FrontResponse(204)
            case RefusalReason.UNKNOWN_TOKEN:
                return _error(404, "There was no configuration found")
            case RefusalReason.MISSING_TOKEN:
                return _error(400, f"Name a key in the path or in {KEY_HEADER}: there are no stateless notifications")
            case RefusalReason.TOO_LARGE:
                return _error(431, refusal.text)
            case _:
                return json_response({"error": refusal.text}, refusal.status, refusal.headers)

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return what to paste into senders that embed Apprise, and into those that call its API."""
        return {
            "Apprise, changedetection.io, Home Assistant": f"{address.apprise_url}",
            "Sonarr, Radarr": f"Connect, Apprise: server URL {address.base_url}, configuration key {address.token}",
            "diun, diun.yml": f"notif:\n  apprise:\n    endpoint: {address.base_url}\n    token: {address.token}",
            "curl": f"curl -d title=Hello -d 'body=It works' {address.url}",
        }


def _error(status: int, text: str) -> FrontResponse:
    return json_response({"error": text}, status)


def _fields(request: DoorRequest) -> Mapping[str, Any]:
    """Return the fields of a body of any kind, renamed as the query says; raises BadRequestError."""
    body = read_body(request) if request.body.strip() else None
    found = {} if body is None else body.payload
    if isinstance(found, str) and not media_type(request).endswith("json"):
        # Plain text, with the other fields in headers.
        named = {name: request.headers.get(f"x-apprise-{name}", "") for name in ("title", "type", "format", "tag")}
        found = {"body": found, **{name: value for name, value in named.items() if value}}
    if not isinstance(found, dict):
        raise BadRequestError("Bad JSON: " + ((body and body.note) or "the body is not an object"))
    fields = dict(found)
    for name, wanted in request.query.items():
        if name.startswith(":"):
            _map(fields, found, name[1:], wanted)
    return fields


def _map(fields: dict[str, Any], found: Mapping[str, Any], path: str, wanted: str) -> None:
    """Move a value of the body to another field; without one, delete it."""
    steps = re.findall(r"[A-Za-z0-9_-]+", path) if _MAPPED.fullmatch(path) else []
    value: Any = found
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            steps = []
            break
    if not steps or len(steps) > MAX_STEPS:
        raise BadRequestError(f"Payload field mapping failed: the body has no {path[:60]!r}")
    fields.pop(steps[0], None) if len(steps) == 1 else None
    if wanted:
        fields[wanted[:60]] = value


def _choice(fields: Mapping[str, Any], request: DoorRequest, name: str, known: Sequence[str]) -> str:
    found = (text_in(fields, name) or text_in(request.query, name)).lower()
    if found and found not in known:
        raise BadRequestError(f"An invalid {name} was specified: use one of {', '.join(known)}")
    return found


def _tags(fields: Mapping[str, Any], request: DoorRequest) -> list[frozenset[str]]:
    """Return the tags of targets: those with all tags of any of the sets; raises BadRequestError."""
    places = ((place, name) for place in (fields, request.query) for name in ("tag", "tags"))
    given = next(filter(None, (place.get(name) for place, name in places)), "")
    listed = given if isinstance(given, list) else [given]
    texts = [" ".join(map(str, each)) if isinstance(each, list) else str(each) for each in listed]
    words = [re.split(r"[\s+&]+", each) for text in texts for each in re.split(r"[,|]", text)]
    return [found for each in words if (found := frozenset(_tag(word) for word in each if word))][:MAX_TAGS]


def _tag(word: str) -> str:
    """Return the name in `[priority:]name[:retries]`."""
    match = _TAG.fullmatch(word)
    if not match:
        raise BadRequestError(f"Unsupported tag {word[:60]!r}")
    return match[1]


def _files(fields: Mapping[str, Any]) -> tuple[list[DoorFile], list[str]]:
    """Return the files in a document, and the addresses of others, which nothing fetches; raises BadRequestError."""
    given: list[Any] = []
    for name in _FILES:
        value = fields.get(name)
        given += value if isinstance(value, list) else [value] if value else []
    links = [each for each in given if is_link(each)]
    objects = [each for each in given if isinstance(each, dict)]
    return [_file(each) for each in objects[:100]], links[:20]


def _file(given: Mapping[str, Any]) -> DoorFile:
    name = text_in(given, "filename") or text_in(given, "name") or "attachment"
    try:
        content = base64.b64decode(text_in(given, "base64"), validate=True)
    except (binascii.Error, ValueError):
        raise BadRequestError(f"The attachment {name[:60]!r} is not valid Base64") from None
    return DoorFile(name=name, type=text_in(given, "mimetype"), content=content)
