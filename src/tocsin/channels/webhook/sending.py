"""One signed call: addresses, signatures, and the meaning of answers. Source: docs/facts/standard-webhooks.md."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tocsin import __version__
from tocsin.channels.replies import rate_limited, refused
from tocsin.channels.webhook.refusals import ReceiverRefusals
from tocsin.channels.webhook.signing import sign, with_content
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.departure import upload_s
from tocsin.core.http.guard import AddressGuard
from tocsin.core.time.timestamps import timestamp

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.core.http.transport import HttpResponse, Transport

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
_TRY_LATER = {408, 425}  # beside those from 500 on


class WebhookClient:
    """Calls receivers, whose entries of `targets.yaml` say which addresses they may have."""

    def __init__(self, http: "Transport", refusals: "ReceiverRefusals") -> None:
        permission = "if the receiver is yours, set `allow_private: true` in targets.yaml"
        self._guard = AddressGuard(http, "receiver", permission)
        self._refusals = refusals

    async def post(
        self,
        name: str,
        entry: Mapping[str, Any],
        event_id: str,
        event: Mapping[str, Any],
        now: float,
        file: "AttachedFile | None" = None,
    ) -> int:
        """Post one event to a receiver with this entry; return the status, a success. Raises RemoteError.

        `file` is the last field of its data, `content`.
        """
        seconds, url = str(int(now)), entry["url"]
        transport = self._guard.transport(url, permitted=_may_be_private(name, entry))
        await self._refusals.check(name, url, now)
        timed = {"type": event["type"], "timestamp": timestamp(now), "data": event["data"]}
        text = json.dumps(timed, ensure_ascii=False, separators=(",", ":"))
        body = with_content(text, file) if file else text.encode()
        headers = {
            **(entry.get("headers") or {}),
            "Content-Type": "application/json",
            "User-Agent": f"tocsin/{__version__}",
            "webhook-id": event_id,
            "webhook-timestamp": seconds,
            "webhook-signature": " ".join(await sign(entry["secret"], event_id, seconds, body)),
        }
        timeout_s = TIMEOUT_S + (upload_s(len(body)) if file else 0.0)
        reply = await transport.request(
            "POST", url, headers=headers, body=body, timeout_s=timeout_s, max_body_bytes=_MAX_ANSWER_BYTES
        )
        if 200 <= reply.status < 300:
            return reply.status
        if reply.status == GONE:
            await self._refusals.add(url, now)
        raise _failure(reply)

    async def check(self, name: str, entry: Mapping[str, Any], now: float) -> None:
        """Look up the addresses of a receiver and check them; raise RemoteError, also for one that is gone."""
        await self._guard.check(entry["url"], permitted=_may_be_private(name, entry))
        await self._refusals.check(name, entry["url"], now)


def _may_be_private(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether the operator permits a private address; raise ChannelError for one without encryption and permission."""
    permitted = bool(entry["allow_private"])
    if not (permitted or entry["url"].startswith("https:")):
        raise ChannelError(f"the address of {name} is not encrypted", hint="use https, or set allow_private: true")
    return permitted


def _failure(reply: "HttpResponse") -> ChannelError:
    status, code = reply.status, f"HTTP {reply.status}"
    if status == 429:
        return rate_limited(reply.retry_after_s(), code)
    if 300 <= status < 400:
        return refused(code, "redirects are not followed; correct `url` in targets.yaml")
    if status >= 500 or status in _TRY_LATER:
        return ChannelError(
            code,
            hint="the receiver has a problem; its log says why",
            kind=FailureKind.TRANSIENT,
            provider_code=code,
            retry_after_s=reply.retry_after_s(),
        )
    return refused(code, ADVICE.get(code, "the receiver refuses the event; its log says why"))
