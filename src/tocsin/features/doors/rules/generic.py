"""The generic form: a message of any payload, for what no rule describes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tocsin.core.text.strings import truncate
from tocsin.features.doors.model import DoorMessage
from tocsin.features.doors.severity import severity_of

MAX_TEXT = 4_000
TITLE = ("title", "subject", "summary", "name")
TEXT = ("message", "body", "text", "description", "msg", "content")
SEVERITY = ("severity", "level", "priority", "status", "type")
LINK = ("url", "link")
KEY = ("id", "key", "fingerprint")


def generic_message(payload: Any) -> DoorMessage:
    """Return a message with what looks like title, text, severity, link and key, else with the payload itself."""
    if isinstance(payload, str):
        return DoorMessage(text=payload.strip() or "(empty)")
    if not isinstance(payload, dict):
        return DoorMessage(title="Webhook", text=_as_block(payload))
    title, text = _first_text(payload, TITLE), _first_text(payload, TEXT)
    severity = next((found for each in _values(payload, SEVERITY) if (found := severity_of(each))), None)
    link = next((each for each in _values(payload, LINK) if is_link(each)), "")
    # An ID without a severity names an event, not a problem: the next message must not replace it.
    key = _key(payload) if severity else ""
    has_text = bool(text)
    if not has_text:
        text = _as_block(payload) if not title or len(payload) > 1 else ""
    shown = title or ("" if has_text else "Webhook")
    return DoorMessage(title=shown, text=text, severity=severity, link=link, key=key)


def is_link(value: Any) -> bool:
    """Whether a value is a web address."""
    return isinstance(value, str) and value.startswith(("http://", "https://")) and not set(value) & set(" \n\r\t<>")


def _key(payload: Mapping[str, Any]) -> str:
    given = (payload.get(name) for name in KEY)
    return next((str(each) for each in given if isinstance(each, str | int) and str(each)), "")


def _first_text(payload: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((each.strip() for each in _values(payload, names) if isinstance(each, str) and each.strip()), "")


def _values(payload: Mapping[str, Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the values of these names, first at the top, then one level down."""
    levels = [payload, *(each for each in list(payload.values())[:50] if isinstance(each, dict))]
    for level in levels:
        lower = {key.lower(): value for key, value in list(level.items())[:200]}
        yield from (lower[name] for name in names if lower.get(name) is not None)


def _as_block(payload: Any) -> str:
    """Return the beginning of a payload as JSON; a large one is not written whole."""
    written = ""
    for chunk in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(payload):
        written += chunk
        if len(written) > MAX_TEXT:
            break
    return truncate(written, MAX_TEXT)
