"""Proofs of senders: signatures over the raw body, and secrets in headers. Source: docs/doors.md, "Secrets"."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs

from tocsin.features.doors.model import DoorRequest

TOLERANCE_S = 300.0  # of Stripe and Standard Webhooks
REPEAT_HEADERS = ("webhook-id", "x-gitea-delivery", "x-github-delivery", "idempotency-key")
_STRIPE_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"(evt_\w{1,200})"')
# Headers and parameters that are never stored with a request: they prove who sends it, or could be replayed.
SECRET_NAMES = frozenset(
    {
        "auth",
        *("authorization", "proxy-authorization", "cookie", "x-api-key", "x-gotify-key", "x-gitlab-token"),
        *("x-hub-signature", "x-hub-signature-256", "x-gitea-signature", "x-gogs-signature", "x-forgejo-signature"),
        *("sentry-hook-signature", "stripe-signature", "webhook-signature"),
    }
)


class _Proof(NamedTuple):
    """A signature header, and the function that verifies it."""

    header: str
    holds: Callable[[str, DoorRequest, str, float], bool]  # value of the header, request, secret, time


def proves(request: DoorRequest, secret: str, now: float) -> bool:
    """Whether a request proves that its sender has the secret, by any of the ways that senders know."""
    given = [proof for proof in _PROOFS if request.headers.get(proof.header)]
    # The first that is given decides: Gitea sends its own signature beside one in the form of GitHub.
    return bool(given) and given[0].holds(request.headers[given[0].header], request, secret, now)


def signs_body(request: DoorRequest) -> bool:
    """Whether the proof of a request is over its body, which must then be read first."""
    given = (proof for proof in _PROOFS if request.headers.get(proof.header))
    return next((proof.holds not in {_plain, _authorization} for proof in given), False)


def repeat_key(request: DoorRequest) -> str:
    """Return what repetitions of one event have in common; empty if the sender names nothing."""
    headers, body = request.headers, request.body
    if name := next((each for each in REPEAT_HEADERS if headers.get(each)), ""):
        return f"{name}:{headers[name]}"
    if "sentry-hook-resource" in headers and headers.get("request-id"):
        return f"request-id:{headers['request-id']}"
    if event := headers.get("x-gitlab-event-uuid"):  # shared by hooks of which one causes the other
        return f"x-gitlab-event-uuid:{event}:{hashlib.sha256(body).hexdigest()}"
    stripe = _STRIPE_ID.match(body) if "stripe-signature" in headers else None
    return f"stripe:{stripe[1].decode()}" if stripe else ""


def _hex(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.strip().encode(), wanted.encode())


def _document(request: DoorRequest) -> bytes:
    """Return the JSON text that Gitea signs, also where a form has it."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return request.body
    fields = parse_qs(request.body.decode("utf-8", "replace"), max_num_fields=100)
    return fields.get("payload", [""])[0].encode()


def _gitea(value: str, request: DoorRequest, secret: str, _now: float) -> bool:
    return _same(value, _hex(secret, _document(request)))


def _github(value: str, request: DoorRequest, secret: str, _now: float) -> bool:
    return _same(value, f"sha256={_hex(secret, request.body)}")


def _sentry(value: str, request: DoorRequest, secret: str, _now: float) -> bool:
    return _same(value, _hex(secret, request.body))


def _plain(value: str, _request: DoorRequest, secret: str, _now: float) -> bool:
    return _same(value, secret)


def _stripe(value: str, request: DoorRequest, secret: str, now: float) -> bool:
    pairs = [each.partition("=")[::2] for each in value.split(",")[:20]]
    at = next((text for name, text in pairs if name.strip() == "t"), "")
    if not _is_recent(at, now):
        return False
    wanted = _hex(secret, f"{at}.".encode() + request.body)
    return any(_same(text, wanted) for name, text in pairs if name.strip() == "v1")


def _standard(value: str, request: DoorRequest, secret: str, now: float) -> bool:
    at, event = request.headers.get("webhook-timestamp", ""), request.headers.get("webhook-id", "")
    if not event or not _is_recent(at, now):
        return False
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return False
    signed = f"{event}.{at}.".encode() + request.body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(_same(each, wanted) for each in value.split()[:20])


def _authorization(value: str, _request: DoorRequest, secret: str, _now: float) -> bool:
    scheme, _, credentials = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            credentials = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        credentials = value  # Seerr and others send the header as it was typed
    return _same(credentials, secret)


def _is_recent(text: str, now: float) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 15 and abs(now - int(text)) <= TOLERANCE_S


_PROOFS = (
    _Proof("webhook-signature", _standard),
    _Proof("stripe-signature", _stripe),
    _Proof("x-gitea-signature", _gitea),
    _Proof("x-gogs-signature", _gitea),
    _Proof("x-hub-signature-256", _github),
    _Proof("sentry-hook-signature", _sentry),
    _Proof("x-gitlab-token", _plain),
    _Proof("authorization", _authorization),
)
