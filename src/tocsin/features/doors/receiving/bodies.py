"""Bodies of requests as JSON values: JSON, forms and text, whatever their Content-Type claims."""

import json
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from tocsin.core.text.strings import storable
from tocsin.features.doors.model import DoorRequest

MAX_DEPTH = 50
MAX_FIELDS = 1_000
# Forms with a JSON document in one field: GitHub, Gitea, Plex and Slack; Uptime Kuma; Discord.
_JSON_FIELDS = ("payload", "data", "payload_json")


class ReadBody(NamedTuple):
    """A body as rules see it; `note` says what is odd about it."""

    payload: Any
    note: str = ""


def read_body(request: DoorRequest) -> ReadBody:
    """Return the body of a request as JSON values; never raises.

    A form becomes an object, or the document that one of its fields has. What can be read as nothing else is text. A
    request without a body has its query as the payload. Of files, `files` has fields, names and sizes.
    """
    found = _read(request)
    if not request.files:
        return found
    names = ("field", "name", "size")
    shown = [{name: each[name] for name in names if name in each} for each in request.files]
    fields = found.payload if isinstance(found.payload, dict) else {"text": found.payload} if found.payload else {}
    left_out = ", ".join(each["name"] for each in request.files if "hash" not in each)
    note = f"not sent, because they are empty or too many: {left_out}" if left_out else ""
    return ReadBody({**fields, "files": shown}, note if not request.body else found.note or note)


def _read(request: DoorRequest) -> ReadBody:
    if not request.body.strip():
        return ReadBody(dict(request.query)) if request.query else ReadBody("", "the body is empty")
    kind = media_type(request)
    text, note = _decoded(request)
    if kind == "application/x-www-form-urlencoded" and text.lstrip()[:1] not in {"{", "["}:
        return _form(text)
    if kind.endswith("json") or text.lstrip()[:1] in {"{", "["}:
        return _json(text, note, claims=kind.endswith("json"))
    return ReadBody(text, note)


def media_type(request: DoorRequest) -> str:
    """Return the media type of a request in lower case, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parse_json(text: str) -> Any:
    """Parse JSON with at most 50 levels; raise ValueError with the reason."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError(f"it has more than {MAX_DEPTH} levels") from None
    if _is_deep(value):
        raise ValueError(f"it has more than {MAX_DEPTH} levels")
    return value


def _json(text: str, note: str, *, claims: bool) -> ReadBody:
    try:
        return ReadBody(parse_json(text), note)
    except ValueError as error:
        # A sender that never said JSON may send text in brackets.
        return ReadBody(text, f"the body is not valid JSON: {error}" if claims else note)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a valid JSON number")


def _form(text: str) -> ReadBody:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError:
        return ReadBody(text, f"the form has more than {MAX_FIELDS:,} fields")
    if not pairs:  # curl -d 'It works' claims to send a form
        return ReadBody(text)
    if len(pairs) == 1 and not pairs[0][1] and "=" not in text:
        return ReadBody(text)
    return _unwrapped(dict(pairs))


def _unwrapped(fields: Mapping[str, Any]) -> ReadBody:
    """Return the document in a field of a form, or the fields."""
    for name in _JSON_FIELDS:
        inner = fields.get(name)
        if isinstance(inner, str) and inner.lstrip()[:1] in {"{", "["}:
            try:
                return ReadBody(parse_json(inner))
            except ValueError as error:
                return ReadBody(dict(fields), f"the field {name} is not valid JSON: {error}")
    return ReadBody(dict(fields))


def _decoded(request: DoorRequest) -> tuple[str, str]:
    """Return the body as text, and a note if it is not in the charset that it claims."""
    declared = EmailMessage()
    declared["Content-Type"] = request.headers.get("content-type") or "text/plain"
    charset = str(declared.get_param("charset", "utf-8") or "utf-8")
    for each in dict.fromkeys((charset, "utf-8")):
        try:
            return storable(request.body.decode(each).lstrip("\ufeff")), ""
        except (LookupError, ValueError):
            continue
    return storable(request.body.decode("utf-8", "replace")), "the body is not valid text in its charset"
