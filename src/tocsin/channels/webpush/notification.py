"""A notification as a device gets it: its fields within the limit, and how it is pushed."""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tocsin.channels.action_tokens import given_key
from tocsin.channels.content import QUIET_FROM, USUAL, Content
from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.model import MessageOperation, Part
from tocsin.core.text.strings import split

MAX_BYTES = 3_993  # 4,096 encrypted: RFC 8291, 4
_MARKS_BYTES = 100  # for the tag and the time
_ENDING = " …"
_WEEK_S, _MOST_S = 7 * 86_400, 28 * 86_400  # how long a push service keeps what a device does not take
_URGENCIES = ("very-low", "low", "normal", "high", "high")
_DELIVERY = re.compile(r"[0-9a-f-]{36}")


def notification_of(part: Part, adapter: OutboundAdapter) -> dict[str, Any]:
    """Return the fields of a notification, which are those that `service_worker.js` reads.

    If they are more than a push service takes, first the text is shortened; then buttons and address are left out.
    """
    delivery = part.key.partition(":")[0]
    shown: dict[str, Any] = {"title": "Tocsin", "body": part.text}
    if _DELIVERY.fullmatch(delivery):
        shown["delivery"] = delivery
    if part.content:
        adapter.dresser.dress(shown, part, part.content)
    if part.keyed and part.keyed.operation is MessageOperation.EDIT:
        shown["silent"] = True  # an edit notifies on no channel
    return shown if len(packed(shown)) <= MAX_BYTES - _MARKS_BYTES else _shortened(shown)


def _shortened(shown: Mapping[str, Any]) -> dict[str, Any]:
    least = {**shown, "body": _ENDING, "short": True, "more": True}
    for name in ("actions", "url"):
        if len(packed(least)) > MAX_BYTES // 2:
            least.pop(name, None)
    room = MAX_BYTES - _MARKS_BYTES - len(packed(least))
    pieces = split(str(shown["body"])[:room], room, _json_bytes)
    return {**least, "body": (pieces[0] if pieces else "") + _ENDING}


def packed(shown: Mapping[str, Any]) -> bytes:
    """Return a notification as the text that is encrypted."""
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def headers_of(content: Content | None, topic: str) -> dict[str, str]:
    """Return how long and how urgently a message is kept for a device (RFC 8030, 5.2 to 5.4)."""
    priority, ttl = (content.priority, content.ttl or _WEEK_S) if content else (USUAL, _WEEK_S)
    if content and content.silent:
        priority = min(priority, QUIET_FROM)
    headers = {"TTL": str(min(round(ttl), _MOST_S)), "Urgency": _URGENCIES[priority - 1]}
    return {**headers, "Topic": topic} if topic else headers


def topic_of(part: Part) -> str:
    """Return the topic of a message with a key, which replaces an earlier one that was not delivered yet.

    Others have none: Google keeps the messages of four topics only for a device that is away.
    """
    return _digest(part.keyed.key) if part.keyed and given_key(part.keyed.key) else ""


def tag_of(part: Part) -> str:
    """Return the tag of a part: a later notification with it replaces an earlier one."""
    return _digest(f"key {part.keyed.key}" if part.keyed else part.key)


def _digest(text: str) -> str:
    """Return 32 characters of base64url, the most that a topic may have."""
    return urlsafe_b64encode(sha256(text.encode()).digest()[:24]).decode()
