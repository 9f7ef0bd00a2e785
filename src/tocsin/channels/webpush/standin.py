"""Stand-in of a push service with one browser. It imports nothing of ours: it plays the other side.

It verifies the sender's proof (RFC 8292), and decrypts what it takes as the browser would (RFC 8291).
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError

DEVICE = "phone"
CONTACT = "mailto:ops@example.org"
MAX_BYTES = 4_096
MAX_TTL_S = 2_419_200
KEYS = frozenset(
    "title body tag sent delivery url silent sticky actions more short".split()  # noqa: SIM905  # a list is long
)
WITHDRAWAL_KEYS = {"withdrawn"}
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")
_REASONS = {400: "BadWebPushRequest", 401: "BadAuthorizationHeader", 403: "BadJwtToken", 410: "Unregistered"}


@dataclass(eq=False)
class Browser:
    """A browser with one subscription, and the notifications that it shows by tag."""

    name: str
    path: str = field(default_factory=lambda: f"/push/{secrets.token_urlsafe(24)}")
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    gone: bool = False
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its `PushSubscription`."""
        return {"p256dh": encoded(point(self.private)), "auth": encoded(self.auth)}

    def decrypt(self, body: bytes) -> bytes:
        """Return the text of a message (RFC 8188, 2; RFC 8291, 3), or refuse."""
        salt, size, length = body[:16], struct.unpack("!L", body[16:20])[0], body[20]
        sender, content = body[21 : 21 + length], body[21 + length :]
        if length != 65 or size > MAX_BYTES or len(content) > size:
            raise refuse(400, "the header of the message is malformed")
        shared = self.private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        secret = derive(self.auth, shared, b"WebPush: info\x00" + point(self.private) + sender, 32)
        key, nonce = (
            derive(salt, secret, b"Content-Encoding: " + what, n)
            for what, n in ((b"aes128gcm\0", 16), (b"nonce\0", 12))
        )
        try:
            text, last, padding = AESGCM(key).decrypt(nonce, content, None).rpartition(b"\x02")
        except InvalidTag:
            raise refuse(400, "the message cannot be decrypted") from None
        if not last or padding.strip(b"\0"):
            raise refuse(400, "the message has no end")
        return text


class PushService(HttpStandIn):
    """A push service; `browser` is subscribed with the keys of `sender`."""

    channel = "webpush"
    sample = DEVICE

    def __init__(self, recorder: Recorder | None = None, **serving: Any) -> None:
        super().__init__(recorder, **serving)
        self.sender = ec.generate_private_key(ec.SECP256R1())
        self.browser = Browser(DEVICE)
        self.headers: list[dict[str, str]] = []  # of the messages that were taken

    def environment(self) -> dict[str, str]:
        """Return the settings that point the channel here."""
        return {"WEBPUSH_CONTACT": CONTACT, "WEBPUSH_HOSTS": self.url}

    def document(self) -> str:
        """Return the record of the channel, with the browser as its device."""
        private = self.sender.private_numbers().private_value.to_bytes(32)
        subscription = [self.url + self.browser.path, *self.browser.keys.values()]
        device = {"name": DEVICE, "subscription": subscription, "user": "demo", "created_at": self.clock()}
        keys = {"private": encoded(private), "public": encoded(point(self.sender))}
        return json.dumps({"keys": keys, "devices": [device]})

    def operation(self, request: web.Request) -> str:
        """Return `push`."""
        return "push"

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [web.post("/push/{subscription}", self._push)]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with a status of the service; `code` is its reason."""
        headers = {"Retry-After": f"{fault.seconds:g}"} if fault.seconds else {}
        return web.json_response({"reason": fault.code or "Error"}, status=fault.http_status, headers=headers)

    async def _push(self, request: web.Request) -> web.Response:
        browser = self.browser
        if request.path != browser.path:
            raise refuse(404, "no such subscription")
        if browser.gone:
            raise refuse(410, "the subscription has ended")
        body = await request.read()
        self._check_headers(request)
        self._check_proof(request)
        if len(body) > MAX_BYTES:
            raise refuse(413, "more than 4,096 bytes")
        shown = json.loads(browser.decrypt(body))
        if unknown := shown.keys() - (WITHDRAWAL_KEYS if "withdrawn" in shown else KEYS):
            raise refuse(400, f"the service worker does not read {sorted(unknown)}")
        self.headers.append({name: request.headers.get(name, "") for name in ("TTL", "Urgency", "Topic")})
        if "withdrawn" in shown:
            browser.shown.pop(shown["withdrawn"], None)
            self.record(request, browser.name, "", id=shown["withdrawn"], kind="deletion", body=shown)
        else:
            kind = "edit" if shown["tag"] in browser.shown else "message"
            browser.shown[shown["tag"]] = shown
            text = "\n".join(filter(None, (shown["title"], shown["body"])))
            self.record(request, browser.name, text, id=shown["tag"], kind=kind, body=shown)
        return web.Response(status=201, headers={"Location": f"{self.url}/message/{secrets.token_urlsafe(12)}"})

    def _check_headers(self, request: web.Request) -> None:
        given = request.headers
        if not re.fullmatch(r"[0-9]{1,10}", given.get("TTL", "")) or int(given["TTL"]) > MAX_TTL_S:
            raise refuse(400, "TTL is missing or too long")
        if given.get("Urgency", "normal") not in {"very-low", "low", "normal", "high"}:
            raise refuse(400, "the urgency is not known")
        if "Topic" in given and not _TOPIC.fullmatch(given["Topic"]):
            raise refuse(400, "the topic is not 1 to 32 characters of base64url")
        if given.get("Content-Encoding") != "aes128gcm":
            raise refuse(415, "the content is not encrypted by aes128gcm")

    def _check_proof(self, request: web.Request) -> None:
        """Verify the header `Authorization`: RFC 8292, 2 and 3."""
        found = re.fullmatch(r"vapid t=([\w.-]+), ?k=([\w-]+)", request.headers.get("Authorization", ""))
        if not found:
            raise refuse(401, "there is no proof")
        if found[2] != encoded(point(self.sender)):
            raise refuse(403, "the subscription belongs to another key")
        signed, _, signature = found[1].rpartition(".")
        raw = decoded(signature)
        halves = (int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        try:
            self.sender.public_key().verify(encode_dss_signature(*halves), signed.encode(), ec.ECDSA(SHA256()))
            head, claims = (json.loads(decoded(each)) for each in signed.split("."))
        except (InvalidSignature, ValueError):
            raise refuse(403, "the signature is wrong") from None
        lasts = claims.get("exp", 0) - self.clock()
        if head != {"typ": "JWT", "alg": "ES256"} or claims.get("aud") != self.url or not 0 < lasts <= 86_400:
            raise refuse(403, "the claims are wrong")
        if not re.match(r"mailto:|https://", claims.get("sub", "")):
            raise refuse(403, "there is no contact")


def derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    """Return a key by HKDF with SHA-256."""
    return HKDF(SHA256(), length, salt, info).derive(secret)


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as an uncompressed point."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encoded(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """Return the bytes of base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def refuse(status: int, text: str) -> RefusalError:
    """Return the refusal with this status."""
    return RefusalError(web.json_response({"reason": _REASONS.get(status, "Refused"), "message": text}, status=status))
