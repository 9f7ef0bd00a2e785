"""Push to a device: addresses, headers, and the meaning of answers. Source: docs/facts/web-push.md."""

import re
from collections.abc import Mapping
from typing import Any

from tocsin.channels.model import Part, Sent
from tocsin.channels.replies import judge_status
from tocsin.channels.webpush.devices import Device, Devices, PushKeys, check_subscription, origin_of
from tocsin.channels.webpush.encryption import encrypt, sign_claims
from tocsin.channels.webpush.notification import headers_of, packed, tag_of, topic_of
from tocsin.channels.webpush.settings import CONTACT, HOSTS
from tocsin.core.config.settings import Values
from tocsin.core.http.guard import AddressGuard
from tocsin.core.http.transport import HttpResponse, Transport
from tocsin.core.text.measures import utf8_bytes
from tocsin.core.time.clock import Clock

_MAX_ANSWER_BYTES = 64 * 1024
_VALID_S, _KEPT_S = 12 * 3600, 3600  # a proof is valid for 24 h at most, and used again for an hour
_SIGNATURE = "compare WEBPUSH_CONTACT, check the clock of this machine, or remove the device and add it again"
# Remedies by status; other statuses are shown without one.
ADVICE = {
    "HTTP 400": "the push service cannot use the subscription; remove the device and add it again",
    "HTTP 401": f"the push service refuses our proof: {_SIGNATURE}",
    "HTTP 403": f"the push service refuses our proof: {_SIGNATURE}",
    "HTTP 404": "the device takes no messages any more and was removed; open the dashboard on it and add it again",
    "HTTP 410": "the device takes no messages any more and was removed; open the dashboard on it and add it again",
    "HTTP 413": "the push service takes less than 4,096 bytes; send less text",
}
_TAKEN = {201, 202}  # RFC 8030, 5 and 5.1
_GONE = {404, 410}
_APPLE = "push.apple.com"


class PushSender:
    """Posts to push services, at the addresses that are allowed."""

    def __init__(self, config: Values, http: Transport, clock: Clock, devices: Devices) -> None:
        self._config = config
        self._guard = AddressGuard(http, "push service", "if it is yours, add its host to WEBPUSH_HOSTS")
        self._clock = clock
        self._devices = devices
        self._proofs: dict[tuple[str, str], tuple[float, str]] = {}

    async def show(self, part: Part, shown: Mapping[str, Any], tag: str = "") -> Sent:
        """Push a notification; one with the tag of an earlier one replaces it. Raises RemoteError."""
        tag, topic = tag or tag_of(part), topic_of(part)
        sent = {**shown, "tag": tag, "sent": round(self._clock.now() * 1000)}
        device = await self._push(part.target, sent, headers_of(part.content, topic))
        length, kept = utf8_bytes(part.text), utf8_bytes(shown["body"])
        shortened = f" (shortened: {kept:,} of {length:,} bytes)" if "short" in shown else ""
        ref = {"target": part.target, "tag": tag, "topic": topic}
        return Sent(f"taken by {device.service}{shortened}", ref)

    async def withdraw(self, ref: Mapping[str, str]) -> str:
        """Close the notification with the tag of `ref`. Raises RemoteError."""
        device = await self._push(ref["target"], {"withdrawn": ref["tag"]}, headers_of(None, ref["topic"]))
        return f"withdrawal taken by {device.service}"

    async def _push(self, target: str, shown: dict[str, Any], headers: Mapping[str, str]) -> Device:
        device, keys = await self._devices.open(target)
        if device.service.endswith(_APPLE):
            shown["shows"] = True  # also a withdrawal: Safari ends a subscription after messages that show nothing
        subscription = check_subscription(device.subscription, self._config[HOSTS])
        origin = origin_of(subscription.endpoint)
        reply = await self._guard.transport(origin, permitted=origin in self._config[HOSTS]).request(
            "POST",
            subscription.endpoint,
            headers={
                **headers,
                "Authorization": self._proof(origin, keys),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
            },
            body=encrypt(packed(shown), subscription),
            max_body_bytes=_MAX_ANSWER_BYTES,
        )
        if reply.status in _TAKEN:
            return device
        if reply.status in _GONE:
            await self._devices.remove(target, device.subscription.endpoint)
        said = f"HTTP {reply.status} {_reason(reply)}".rstrip()
        raise judge_status(reply, HOSTS.name, ADVICE, said=said, otherwise="the push service refuses the message")

    def _proof(self, origin: str, keys: PushKeys) -> str:
        now = self._clock.now()
        made_at, proof = self._proofs.get((origin, keys.public), (0.0, ""))
        if not 0 <= now - made_at < _KEPT_S:
            proof = sign_claims(origin, self._config[CONTACT], int(now) + _VALID_S, keys)
            self._proofs[origin, keys.public] = now, proof
        return proof


def _reason(reply: HttpResponse) -> str:
    """Return the service's word for what is wrong; its sentences may repeat the endpoint."""
    answer = reply.json_object() or {}
    found = next((answer[name] for name in ("reason", "errno") if name in answer), "")  # of Apple, of Mozilla
    return str(found) if re.fullmatch(r"[A-Za-z0-9_]{1,40}", str(found)) else ""
