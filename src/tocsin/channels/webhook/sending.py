"""One signed call: addresses, signatures, and the meaning of answers. Source: docs/facts/standard-webhooks.md."""

import asyncio
import hmac
import json
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tocsin import __version__
from tocsin.channels.replies import rate_limited, refused
from tocsin.channels.webhook.settings import key_of
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.addresses import is_public
from tocsin.core.http.proxy import proxy_for
from tocsin.core.http.transport import describe_os_error, displayed_host, find_origin
from tocsin.core.time.timestamps import timestamp

if TYPE_CHECKING:
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
    "HTTP 413": "the event is too large for the receiver; send less text",
}
_TRY_LATER = {408, 425}  # beside those from 500 on


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver of `targets.yaml`, with its secrets."""

    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    allow_private: bool

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.url.startswith("https:")


class WebhookClient:
    """Calls receivers, at addresses that their entries allow."""

    def __init__(self, http: "Transport") -> None:
        self._http = http
        self._public: Transport | None = None  # connects to public addresses alone
        self._private: Transport | None = None  # connects to private addresses alone: without encryption

    async def post(
        self, name: str, entry: Mapping[str, Any], event_id: str, event: Mapping[str, Any], now: float
    ) -> int:
        """Post one event to a receiver with this entry; return the status, a success. Raises RemoteError."""
        receiver = _receiver(name, entry)
        timed = {"type": event["type"], "timestamp": timestamp(now), "data": event["data"]}
        body = json.dumps(timed, ensure_ascii=False, separators=(",", ":")).encode()
        seconds = str(int(now))
        headers = {
            **receiver.headers,
            "Content-Type": "application/json",
            "User-Agent": f"tocsin/{__version__}",
            "webhook-id": event_id,
            "webhook-timestamp": seconds,
            "webhook-signature": " ".join(sign(secret, event_id, seconds, body) for secret in receiver.secrets),
        }
        reply = await self._transport(receiver).request(
            "POST",
            receiver.url,
            headers=headers,
            body=body,
            timeout_s=TIMEOUT_S,
            max_body_bytes=_MAX_ANSWER_BYTES,
        )
        if 200 <= reply.status < 300:
            return reply.status
        raise _failure(reply)

    async def check(self, name: str, entry: Mapping[str, Any]) -> None:
        """Look up the addresses of a receiver and check them; raise ChannelError."""
        receiver = _receiver(name, entry)
        if proxy_for(find_origin(receiver.url)):
            return  # the proxy looks names up
        parts = urlsplit(receiver.url)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(parts.hostname, parts.port or parts.scheme, type=socket.SOCK_STREAM)
        except OSError as error:
            told = f"could not look up {displayed_host(receiver.url)}: {describe_os_error(error)}"
            raise ChannelError(told, hint="correct `url` in targets.yaml", kind=FailureKind.TRANSIENT) from None
        check = _allow_any if receiver.secure and receiver.allow_private else refuse_private
        for *_, address in found:
            (check if receiver.secure else refuse_public)(str(address[0]))

    def _transport(self, receiver: Receiver) -> "Transport":
        if receiver.secure and receiver.allow_private:
            return self._http
        if receiver.secure:
            self._public = self._public or self._http.guarded(refuse_private)
            return self._public
        self._private = self._private or self._http.guarded(refuse_public)
        return self._private


def _receiver(name: str, entry: Mapping[str, Any]) -> Receiver:
    made = Receiver(entry["url"], tuple(entry["secret"]), entry.get("headers") or {}, bool(entry["allow_private"]))
    if not (made.secure or made.allow_private):
        raise ChannelError(f"the address of {name} is not encrypted", hint="use https, or set allow_private: true")
    return made


def sign(secret: str, event_id: str, seconds: str, body: bytes) -> str:
    """Return the signature of an event by one secret."""
    signed = f"{event_id}.{seconds}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key_of(secret), signed, 'sha256')).decode()}"


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


def _allow_any(_: str) -> None:
    """Let an encrypted call go to any address."""


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
