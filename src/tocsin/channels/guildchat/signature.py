"""Verify that a call comes from Discord: Ed25519 over timestamp and raw body. Source: docs/facts/guildchat.md."""

import re
from collections.abc import Callable

from tocsin.channels.inbound import RejectedError, WebhookRequest

SIGNATURE_HEADER = "x-signature-ed25519"
TIMESTAMP_HEADER = "x-signature-timestamp"

_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}")
_TIMESTAMP = re.compile(r"[0-9]{1,20}")  # digits only, so that the timestamp cannot absorb a part of the body


def check(request: WebhookRequest, public_key: str) -> None:
    """Raise RejectedError unless the owner of `public_key` (64 hex digits) signed timestamp and raw body.

    The age is not checked: the product defines none.
    """
    if not public_key:
        raise RejectedError("no public key is configured", hint="set GUILDCHAT_PUBLIC_KEY")
    signature, timestamp = read_proof(request)
    try:
        verify, not_signed = _verifier(public_key)
    except ImportError:
        raise RejectedError("pynacl: package not installed", hint="pip install pynacl") from None
    try:
        verify(timestamp.encode() + request.body, bytes.fromhex(signature))
    except not_signed:
        raise RejectedError("the signature does not match", hint="compare GUILDCHAT_PUBLIC_KEY") from None


def _verifier(public_key: str) -> tuple[Callable[[bytes, bytes], bytes], type[Exception]]:
    """Return the verifier of a key and its exception."""
    from nacl.exceptions import CryptoError
    from nacl.signing import VerifyKey

    return VerifyKey(bytes.fromhex(public_key)).verify, CryptoError


def read_proof(request: WebhookRequest) -> tuple[str, str]:
    """Return signature (128 hex digits in lower case) and timestamp; raise RejectedError if either is malformed."""
    signature, timestamp = request.agreed_value(SIGNATURE_HEADER), request.agreed_value(TIMESTAMP_HEADER)
    if not _SIGNATURE.fullmatch(signature):
        raise RejectedError("the signature is not 128 hexadecimal digits")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise RejectedError("the timestamp is not a number")
    return signature.lower(), timestamp


def signed_at(request: WebhookRequest) -> float:
    """Return the timestamp of a call, in Unix seconds."""
    return float(read_proof(request)[1])
