"""Verify that a call comes from Slack: an HMAC over timestamp and raw body. Source: docs/facts/teamchat.md."""

import hmac
import re

from tocsin.channels.inbound import RejectedError, WebhookRequest

SIGNATURE_HEADERS = ("x-teamchat-signature", "x-slack-signature")
# Any pairing of these headers is safe, because the MAC covers the timestamp.
TIMESTAMP_HEADERS = ("x-teamchat-request-timestamp", "x-teamchat-timestamp", "x-slack-request-timestamp")
MAX_AGE_S = 300  # docs/facts/teamchat.md, "Signature"

_SIGNATURE = re.compile(r"(?:v0=)?([0-9a-fA-F]{64})")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


def check(request: WebhookRequest, secret: str, now: float) -> None:
    """Raise RejectedError unless `secret` signed the raw body at most 5 minutes before or after `now`."""
    if not secret:
        raise RejectedError("no signing secret is configured", hint="set TEAMCHAT_SIGNING_SECRET")
    signature, timestamp = read_proof(request)
    if abs(int(now) - int(timestamp)) > MAX_AGE_S:  # timestamps are whole seconds
        raise RejectedError("the timestamp differs by more than 5 minutes", hint="check the clock of this machine")
    expected = hmac.digest(secret.encode(), b"v0:%b:%b" % (timestamp.encode(), request.body), "sha256")
    if not hmac.compare_digest(expected, bytes.fromhex(signature)):
        raise RejectedError("the signature does not match", hint="compare TEAMCHAT_SIGNING_SECRET")


def read_proof(request: WebhookRequest) -> tuple[str, str]:
    """Return signature (64 hex digits in lower case) and timestamp; raise RejectedError if either is malformed."""
    signature = _SIGNATURE.fullmatch(request.agreed_value(*SIGNATURE_HEADERS))
    timestamp = request.agreed_value(*TIMESTAMP_HEADERS)
    if signature is None:
        raise RejectedError("the signature is not v0= and 64 hexadecimal digits")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise RejectedError("the timestamp is not 1 to 12 digits")
    return signature[1].lower(), timestamp
