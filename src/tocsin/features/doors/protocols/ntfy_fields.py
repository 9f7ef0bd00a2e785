"""The fields of a message as ntfy's senders write them: in headers, in the query, or in JSON."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Any, NamedTuple

from tocsin.core.text.strings import storable
from tocsin.features.doors.model import DoorRequest
from tocsin.features.doors.protocols.protocol import BadRequestError

# Each with its aliases, without `X-`; all are also parameters of the query.
ALIASES: Mapping[str, Sequence[str]] = {
    "message": ("message", "m"),
    "title": ("title", "t"),
    "priority": ("priority", "prio", "p"),
    "tags": ("tags", "tag", "ta"),
    "delay": ("delay", "at", "in"),
    "actions": ("actions", "action"),
    "click": ("click",),
    "attach": ("attach", "a"),
    "filename": ("filename", "file", "f"),
    "markdown": ("markdown", "md"),
    "icon": ("icon",),
    "sequence_id": ("sequence-id", "sid"),
    "template": ("template", "tpl"),
}
PRIORITIES = {"min": 1, "low": 2, "default": 3, "high": 4, "max": 5, "urgent": 5} | {str(n): n for n in range(1, 6)}
MIN_DELAY_S, MAX_DELAY_S = 10.0, 3 * 86_400.0
MAX_ACTIONS = 3
KINDS = ("view", "http", "broadcast", "copy")
_HTTP_PRIORITY = re.compile(r"u=\d.*")  # RFC 9218: browsers and proxies add it
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(?:(\d{1,7})\s*(s|m|h|d)[a-z]*[\s,]*)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*(am|pm)?", re.IGNORECASE)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class NtfyAction(NamedTuple):
    """A button; `url` of the kind `copy` is the text that it copies."""

    kind: str
    label: str
    url: str
    clears: bool = False

    def shown(self, number: int) -> Mapping[str, Any]:
        """Return it as readers of the original would get it, without what may be secret."""
        place = "value" if self.kind == "copy" else "url"
        own = {"id": f"action{number:04d}", "action": self.kind, "label": self.label, "clear": self.clears}
        return {**own, place: self.url} if self.url else own


def read_fields(request: DoorRequest, document: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields that are given, by their names in JSON: those of JSON, then of headers, then of the query."""
    found: dict[str, Any] = {}
    for name, aliases in ALIASES.items():
        given = (document or {}).get(name)
        if given in (None, "", []):
            given = next((each for each in _given(request, aliases, name) if each), None)
        if given is not None:
            found[name] = given
    return found


def priority_of(given: Any) -> int | None:
    """Return 1 to 5; raises BadRequestError."""
    if given in (None, 0):  # 0: not set, in JSON of clients that write all fields
        return None
    word = str(given).strip().lower()
    if word not in PRIORITIES:
        raise BadRequestError("invalid priority parameter", detail=40_007)
    return PRIORITIES[word]


def tags_of(given: Any) -> list[str]:
    """Return the tags of a list, or of a text with commas."""
    words = given if isinstance(given, list) else str(given or "").split(",")
    return [str(word).strip() for word in words if str(word).strip()][:20]


def is_on(given: Any) -> bool:
    """Whether a boolean parameter is set."""
    return given is True or str(given or "").strip().lower() in {"1", "yes", "true"}


def is_template(fields: Mapping[str, Any]) -> bool:
    """Whether the body is data for a template."""
    return str(fields.get("template", "")).lower() not in {"", "0", "no", "false"}


def time_of(given: Any, now: float) -> float | None:
    """Return the time at which a message is sent, in Unix seconds; raises BadRequestError."""
    if given is None:
        return None
    found = _time(str(given).strip().lower(), now)
    if found is None:
        raise BadRequestError("invalid delay parameter: unable to parse delay", detail=40_004)
    if found < now + MIN_DELAY_S:
        raise BadRequestError("invalid delay parameter: too small, please refer to the docs", detail=40_005)
    if found > now + MAX_DELAY_S:
        raise BadRequestError("invalid delay parameter: too large, please refer to the docs", detail=40_006)
    return found


def actions_of(given: Any) -> list[NtfyAction]:
    """Return the buttons of a list, of its JSON, or of the short form; raises BadRequestError."""
    if given is None:
        return []
    if isinstance(given, str) and given.lstrip().startswith("["):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise _invalid("JSON error") from None
    found = list(_short_actions(given)) if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _invalid("not a list of actions")
    if len(found) > MAX_ACTIONS:
        raise _invalid(f"only {MAX_ACTIONS} actions allowed")
    return [_action(each) for each in found]


def _action(each: Mapping[str, Any]) -> NtfyAction:
    kind, label = str(each.get("action", "")).lower(), str(each.get("label", "")).strip()
    url = str(each.get("value" if kind == "copy" else "url", "")).strip()
    if kind not in KINDS:
        raise _invalid(f"action '{kind[:20]}' unknown")
    if not label:
        raise _invalid("parameter 'label' is required")
    if kind in {"view", "http"} and not url:
        raise _invalid(f"parameter 'url' is required for action '{kind}'")
    return NtfyAction(kind, label, url, is_on(each.get("clear")))


def _invalid(said: str) -> BadRequestError:
    return BadRequestError(f"invalid request: actions invalid; {said}", detail=40_018)


def _short_actions(text: str) -> Iterator[dict[str, str]]:
    """Yield the actions of `view, Label, https://…, clear=true; …`."""
    for section in _cut(text, ";"):
        action: dict[str, str] = {}
        for place, word in enumerate(_cut(section, ",")):
            name, is_named, value = word.partition("=")
            if is_named and re.fullmatch(r"[a-z]+(?:\.[\w-]+)?", name.strip(), re.IGNORECASE):
                action[name.strip().lower()] = _bare(value)
            elif place < 3:
                action[("action", "label", "url")[place]] = _bare(word)
        if action.get("action") == "copy":
            action.setdefault("value", action.get("url", ""))
        if action:
            yield action


def _cut(text: str, separator: str) -> list[str]:
    """Split a text at a character outside quotes; empty pieces are left out."""
    pieces = re.findall(rf"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^{separator}])+""", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _bare(word: str) -> str:
    word = word.strip()
    is_quoted = len(word) >= 2 and word[0] == word[-1] and word[0] in "\"'"
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if is_quoted else word


def _given(request: DoorRequest, aliases: Sequence[str], name: str) -> Iterator[str]:
    for alias in aliases:
        for header in (f"x-{alias}", alias):
            value = _decoded(request.headers.get(header, ""))
            if not (name == "priority" and _HTTP_PRIORITY.fullmatch(value)):
                yield value
    for alias in aliases:
        for parameter in (f"x-{alias}", alias):
            yield request.query.get(parameter, "").strip()


def _decoded(value: str) -> str:
    """Return the text of a header: UTF-8, also in the form of RFC 2047."""
    try:
        text = value.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        text = value
    if "=?" in text:
        try:
            text = str(make_header(decode_header(text)))
        except (HeaderParseError, LookupError, ValueError):
            return storable(text).strip()
    return storable(text).strip()


def _time(text: str, now: float) -> float | None:
    if text.isascii() and text.isdigit():
        return float(text) if len(text) <= 12 else None
    spans = _DURATION.findall(text)
    if spans and not _DURATION.sub("", text).strip():
        return now + sum(int(count) * _UNITS[unit.lower()] for count, unit in spans)
    return _clock_time(text, now)


def _clock_time(text: str, now: float) -> float | None:
    """Return the next time that words such as `tomorrow, 10am` name, in the time zone of this machine."""
    today = datetime.fromtimestamp(now).astimezone()
    words = [word for word in re.split(r"[\s,]+", text) if word and word not in {"at", "on", "next", "today"}]
    days, is_day = 0, bool(words) and (words[0] == "tomorrow" or words[0] in _DAYS)
    if is_day:
        name = words.pop(0)
        days = 1 if name == "tomorrow" else (_DAYS.index(name) - today.weekday()) % 7
    clock = _CLOCK.fullmatch(" ".join(words)) if words else None
    if words and (clock is None or not (clock[2] or clock[3])):
        return None
    if not words and not is_day:
        return None
    hour, minute = (int(clock[1]), int(clock[2] or 0)) if clock else (today.hour, today.minute)
    if clock and clock[3]:
        hour = hour % 12 + (12 if clock[3].lower() == "pm" else 0)
    if hour > 23 or minute > 59:
        return None
    found = today.replace(hour=hour, minute=minute, second=0, microsecond=0) + timedelta(days=days)
    if found.timestamp() <= now:
        found += timedelta(days=7 if is_day and days == 0 else 1)
    return found.timestamp()
