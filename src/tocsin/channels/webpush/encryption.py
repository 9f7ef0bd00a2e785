"""Encrypt a message for one device, and prove who sends it. Source: docs/facts/web-push.md, "Encryption" and "Proof".

It imports `cryptography`, which takes 50 ms and 10 MB: only a send, and making the keys, load it.
"""

import hmac
import json
import os
from struct import pack

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tocsin.channels.webpush.devices import PushKeys, Subscription, decode, encode
from tocsin.core.errors import ChannelError

_CURVE = ec.SECP256R1()
_RECORD_BYTES = 4_096
_LAST_RECORD = b"\x02"


def make_keys() -> PushKeys:
    """Return a new key pair."""
    private = ec.generate_private_key(_CURVE)
    return PushKeys(encode(private.private_numbers().private_value.to_bytes(32)), encode(_point(private)))


def encrypt(text: bytes, subscription: Subscription, *, private: str = "", salt: bytes = b"") -> bytes:
    """Return `text` encrypted by `aes128gcm` for a subscription, in one record.

    `private` and `salt` are random, except where a test compares with the example of RFC 8291.
    """
    own = _private(private) if private else ec.generate_private_key(_CURVE)
    salt = salt or os.urandom(16)
    theirs = decode(subscription.p256dh)
    try:
        shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, theirs))
    except (ValueError, InvalidKey):
        raise ChannelError(
            "the key of the device is not a point of the curve", hint="remove it and add it again"
        ) from None
    secret = _derive(decode(subscription.auth), shared, b"WebPush: info\0" + theirs + _point(own), 32)
    key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + pack("!LB", _RECORD_BYTES, 65) + _point(own)
    return head + AESGCM(key).encrypt(nonce, text + _LAST_RECORD, None)


def sign_claims(audience: str, contact: str, expires_at: int, keys: PushKeys) -> str:
    """Return the proof of an origin's messages as the header `Authorization`."""
    claims = {"aud": audience, "exp": expires_at, "sub": contact}
    signed = ".".join(encode(json.dumps(each).encode()) for each in ({"typ": "JWT", "alg": "ES256"}, claims))
    r, s = decode_dss_signature(_private(keys.private).sign(signed.encode(), ec.ECDSA(SHA256())))
    return f"vapid t={signed}.{encode(r.to_bytes(32) + s.to_bytes(32))}, k={keys.public}"


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    """Return the first block of HKDF (RFC 5869)."""
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")[:length]


def _private(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(decode(text)), _CURVE)


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
