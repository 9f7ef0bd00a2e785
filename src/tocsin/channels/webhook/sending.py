"""One signed call: addresses, signatures, and the meaning of answers. Source: docs/facts/standard-webhooks.md."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tocsin import __version__
from tocsin.channels.replies import rate_limited, refused
from tocsin.channels.webhook.signing import sign, with_content
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.addresses import is_public, look_up
from tocsin.core.http.departure import upload_s
from tocsin.core.http.proxy import proxy_for
from tocsin.core.http.transport import find_origin
from tocsin.core.time.timestamps import timestamp

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.core.http.transport import HttpResponse, Transport

TIMEOUT_S = 20.0  # Standard Webhooks: 15 to 30 s
_MAX_ANSWER_BYTES = 64 * 1024  # nothing of it is shown
# Remedies by status; other statuses are shown without one.
ADVICE = {
    "HTTP 400": "the receiver could not read the event; its log says why",
    "HTTP 401": "the receiver refuses the signature or the headers; compare `secret` and `headers` in targets.yaml",
    "HTTP 403": "the receiver refuses the signature or the headers; compare `secret` and `headers` in targets.yaml",
    "HTTP 404": "the receiver has no such path; correct `url` in targets.yaml",
    "HTTP 405": "the receiver takes no POST there; correct `url` in targets.yaml",
    "HTTP 410": "the receiver wants no more events; remove the target from targets.yaml",
    "HTTP 413": "the event is too large for the receiver; send less text, or a smaller file",
}
_TRY_LATER = {408, 425}  # beside those from 500 on


Rule = Callable[[str], None]  # raises for an address that a receiver must not have


class WebhookClient:
    """Calls receivers, whose entries of `targets.yaml` say which addresses they may have."""

    def __init__(self, http: "Transport") -> None:
        self._http = http
        self._guarded: dict[Rule, Transport] = {}

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
        rule, seconds = _rule(name, entry), str(int(now))
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
        if rule and rule not in self._guarded:
            self._guarded[rule] = self._http.guarded(rule)
        reply = await (self._guarded[rule] if rule else self._http).request(
            "POST", entry["url"], headers=headers, body=body, timeout_s=timeout_s, max_body_bytes=_MAX_ANSWER_BYTES
        )
        if 200 <= reply.status < 300:
            return reply.status
        raise _failure(reply)

    async def check(self, name: str, entry: Mapping[str, Any]) -> None:
        """Look up the addresses of a receiver and check them; raise RemoteError."""
        rule = _rule(name, entry)
        if proxy_for(find_origin(entry["url"])):
            return  # the proxy looks names up
        for address in await look_up(entry["url"]):
            if rule:
                rule(address)


def _rule(name: str, entry: Mapping[str, Any]) -> Rule | None:
    """Return the rule for the addresses of a receiver; `None` if it may have any."""
    secure, private = entry["url"].startswith("https:"), bool(entry["allow_private"])
    if not (secure or private):
        raise ChannelError(f"the address of {name} is not encrypted", hint="use https, or set allow_private: true")
    return refuse_public if not secure else None if private else refuse_private


def refuse_private(address: str) -> None:
    """Raise ChannelError for an address that is not on the Internet."""
    if not is_public(address):
        raise ChannelError(
            f"the receiver's address {address} is private",
            hint="if the receiver is yours, set `allow_private: true` in targets.yaml",
        )


def refuse_public(address: str) -> None:
    """Raise ChannelError for an address on the Internet, which takes encryption."""
    if is_public(address):
        raise ChannelError(f"{address} is on the Internet, and the address is not encrypted", hint="use https")


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
