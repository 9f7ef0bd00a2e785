"""One signed call: addresses, signatures, and the meaning of answers. Source: docs/facts/standard-webhooks.md."""

import json
from collections.abc import Mapping
from typing import Any

from tocsin import __version__
from tocsin.channels.attached import AttachedFile
from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.replies import judge_status
from tocsin.channels.webhook.refusals import ReceiverRefusals
from tocsin.channels.webhook.signing import sign, with_content
from tocsin.core.http.departure import upload_s
from tocsin.core.http.guard import AddressGuard
from tocsin.core.time.timestamps import timestamp

GONE = 410
TIMEOUT_S = 20.0  # Standard Webhooks: 15 to 30 s
_MAX_ANSWER_BYTES = 64 * 1024  # nothing of it is shown
# Remedies by status; other statuses are shown without one.
ADVICE = {
    "HTTP 400": "the receiver could not read the event; its log says why",
    "HTTP 401": "the receiver refuses the signature or the headers; compare `secret` and `headers` in targets.yaml",
    "HTTP 403": "the receiver refuses the signature or the headers; compare `secret` and `headers` in targets.yaml",
    "HTTP 404": "the receiver has no such path; correct `url` in targets.yaml",
    "HTTP 405": "the receiver takes no POST there; correct `url` in targets.yaml",
    "HTTP 410": "the receiver wants no more events, and gets none for a day; remove the target, or correct its `url`",
    "HTTP 413": "the event is too large for the receiver; send less text, or a smaller file",
}
_OTHERWISE = "the receiver refuses the event; its log says why"


class WebhookClient:
    """Calls receivers, whose entries of `targets.yaml` say which addresses they may have."""

    def __init__(self, adapter: OutboundAdapter) -> None:
        permission = "if the receiver is yours, set `allow_private: true` in targets.yaml"
        self._guard = AddressGuard(adapter.http, "receiver", permission)
        self._refusals = ReceiverRefusals(adapter.document)
        self._targets, self._clock = adapter.targets, adapter.clock

    async def post(
        self, name: str, event_id: str, kind: str, data: Mapping[str, Any], file: AttachedFile | None = None
    ) -> str:
        """Post one event and return the note; `file` is the last field of its data, `content`. Raises RemoteError."""
        entry, now = await self._targets.read(name), self._clock.now()
        url = entry["url"]
        transport = self._guard.transport(url, permitted=entry["allow_private"])
        await self._refusals.check(name, url, now)
        event = {"type": kind, "timestamp": timestamp(now), "data": data}
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        body = with_content(text, file) if file else text.encode()
        headers = {
            **(entry.get("headers") or {}),
            "Content-Type": "application/json",
            "User-Agent": f"tocsin/{__version__}",
            **await sign(entry["secret"], event_id, int(now), body),
        }
        timeout_s = TIMEOUT_S + (upload_s(len(body)) if file else 0.0)
        reply = await transport.request(
            "POST", url, headers=headers, body=body, timeout_s=timeout_s, max_body_bytes=_MAX_ANSWER_BYTES
        )
        if 200 <= reply.status < 300:
            return f"id={event_id} (HTTP {reply.status})"
        if reply.status == GONE:
            await self._refusals.add(url, now)
        raise judge_status(reply, "`url` in targets.yaml", ADVICE, otherwise=_OTHERWISE)

    async def check(self, name: str) -> None:
        """Look up the addresses of a receiver and check them; raise RemoteError, also for one that is gone."""
        entry = await self._targets.read(name)
        await self._guard.check(entry["url"], permitted=entry["allow_private"])
        await self._refusals.check(name, entry["url"], self._clock.now())
