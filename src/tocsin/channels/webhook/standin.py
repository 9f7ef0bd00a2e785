"""Stand-in of a receiver of Standard Webhooks. It imports nothing of ours: it plays the other side."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, whole_seconds

SECRET = f"whsec_{base64.b64encode(b'stand-in secret of 32 bytes, yes').decode()}"
TOLERANCE_S = 300
MAX_BYTES = 20_000
MAX_FILE_EVENT_BYTES = 16 * 2**20
_FIELDS: dict[str, Any] = {
    "id": str,
    "target": str,
    "message": str,
    "format": str,
    "is_first": bool,
    "is_last": bool,
    "key": str,
    "thread": str,
    "title": str,
    "priority": int,
    "type": (str, type(None)),
    "click": (str, type(None)),
    "silent": bool,
    "mention": list,
    "actions": list,
    "keeps_files": bool,
}
_FILE: dict[str, Any] = {**dict.fromkeys(("id", "target", "name", "type", "alt", "content"), str), "size": int}
_TEXTS = ("target", "event", "name", "value", "label", "by", "channel", "chat", "key", "message")
_PRESS: dict[str, Any] = {**dict.fromkeys(_TEXTS, str), "by_link": bool}
_KINDS = {
    "message.created": "message",
    "message.updated": "edit",
    "message.withdrawn": "deletion",
    "message.file": "file",
    "message.action": "press",
}
_KNOWN = {"message.file": _FILE, "message.action": _PRESS}
_NEEDED = {
    "message.withdrawn": {"id", "target", "key"},
    "message.updated": {"id", "target", "message", "format", "keeps_files"},
    **{kind: set(fields) for kind, fields in _KNOWN.items()},
}


class WebhookReceiver(HttpStandIn):
    """A program that takes events at `/hook`, verifies them, and drops an ID that it knows.

    `secrets` are those that it accepts. `gone` answers 410.
    """

    channel = "webhook"
    sample = "ci"

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        secrets: Iterable[str] = (SECRET,),
        gone: bool = False,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.secrets = tuple(secrets)
        self.gone = gone
        self.seen: dict[str, bytes] = {}  # bodies by the ID of their event
        self.files: dict[str, bytes] = {}  # contents by the ID of their event

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the entry of `targets.yaml` that points the channel here."""
        return {self.sample: {"url": f"{self.url}/hook", "secret": self.secrets[0], "allow_private": True}}

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [web.post("/hook", self._take)]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with the status of the fault."""
        if fault.kind == "rate_limited":
            return web.Response(status=429, headers={"Retry-After": whole_seconds(fault.seconds)})
        return web.Response(status=fault.http_status, text=fault.text)

    async def _take(self, request: web.Request) -> web.Response:
        if self.gone:
            raise refuse(410, "no more events")
        raw = await request.read()
        event_id = self._verified(request, raw)
        kind, data = read_event(raw)
        if len(raw) > (MAX_FILE_EVENT_BYTES if kind == "message.file" else MAX_BYTES):
            raise refuse(413, "larger than 20 kB, or 16 MiB for a file")
        if event_id not in self.seen:
            self.seen[event_id] = raw
            if kind == "message.file":
                self.files[event_id] = base64.b64decode(data["content"], validate=True)
            text = "\n".join(filter(None, [data.get("title", ""), data.get("message", "")]))
            self.record(
                request, data["target"], text, id=event_id, account="tocsin", kind=_KINDS[kind], body=json.loads(raw)
            )
        return web.json_response({"received": event_id}, status=202)

    def _verified(self, request: web.Request, raw: bytes) -> str:
        headers = {name: request.headers.getall(f"webhook-{name}", []) for name in ("id", "timestamp", "signature")}
        if any(len(values) != 1 for values in headers.values()):
            raise refuse(400, "a header is missing or repeated")
        [event_id], [seconds], [signatures] = headers.values()
        if not seconds.isdigit() or abs(self.clock() - int(seconds)) > TOLERANCE_S:
            raise refuse(400, "the timestamp is too old or too new")
        if not event_id or "." in event_id:
            raise refuse(400, "the ID has a full stop")
        signed = b".".join([event_id.encode(), seconds.encode(), raw])
        expected = {
            b"v1," + base64.b64encode(hmac.new(key(each), signed, hashlib.sha256).digest()) for each in self.secrets
        }
        if not any(hmac.compare_digest(each, given.encode()) for each in expected for given in signatures.split(" ")):
            raise refuse(401, "no signature matches")
        return event_id


def key(secret: str) -> bytes:
    """Return the bytes of a secret."""
    return base64.b64decode(secret.removeprefix("whsec_"))


def read_event(raw: bytes) -> tuple[str, dict[str, Any]]:
    """Return type and data of an event, or refuse."""
    try:
        event = json.loads(raw)
        kind, data = event["type"], event["data"]
        datetime.fromisoformat(event["timestamp"])
    except (ValueError, TypeError, KeyError):
        raise refuse(400, "not an event") from None
    if set(event) != {"type", "timestamp", "data"} or kind not in _KINDS or not isinstance(data, dict):
        raise refuse(400, "not an event")
    needed = _NEEDED.get(kind, {"id", "target", "message", "format"})
    known = _KNOWN.get(kind, _FIELDS)
    if not needed <= set(data) <= set(known):
        raise refuse(400, "a field is missing or unknown")
    if kind == "message.file" and len(data["content"]) != -(-data["size"] // 3) * 4:
        raise refuse(400, "the content has another size")
    if any(not isinstance(value, known[name]) for name, value in data.items()):
        raise refuse(400, "a field has another type")
    return kind, data


def refuse(status: int, text: str) -> RefusalError:
    """Return the refusal with this status."""
    return RefusalError(web.Response(status=status, text=text))
