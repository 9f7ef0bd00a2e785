"""A delivery as a hash in Redis: one JSON field for constant values, separate fields for the rest."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tocsin.core.storage.redis_time import MICRO, micro
from tocsin.core.text.strings import storable
from tocsin.delivery.model import (
    KEPT_FILES,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    pack_extra,
    read_policy,
)
from tocsin.delivery.store import DeliveryHold


def micro_or_none(seconds: float | None) -> int | str:
    """Return whole microseconds, or `""` for `None`."""
    return "" if seconds is None else micro(seconds)


def encode_key(text: str) -> bytes:
    """Return text as the bytes of a key, lone surrogates included."""
    return storable(text).encode()


def _seconds(raw: bytes | str) -> float:
    return float(raw) / MICRO  # beyond 2**53, Lua writes it with an exponent


log = logging.getLogger(__name__)

_FIXED = ("id", "channel", "target", "message", "source", "policy", "parse_mode", "created_at", "idempotency_key")
_KNOWN = frozenset((*_FIXED, "extra", "key", "thread"))
# Field of the hash → field of the record, and its reader.
_CHANGING: dict[bytes, tuple[str, Callable[[bytes], object]]] = {
    b"status": ("status", lambda raw: DeliveryStatus(raw.decode())),
    b"attempts": ("attempts", int),
    b"failures": ("failures", int),
    b"next_at": ("next_attempt_at", _seconds),
    b"not_before": ("not_before", _seconds),
    b"expires_at": ("expires_at", _seconds),
    b"parts_sent": ("parts_sent", int),
    b"parts_total": ("parts_total", int),
    b"provider_id": ("provider_id", bytes.decode),
    b"error": ("error", bytes.decode),
    b"error_class": ("error_class", bytes.decode),
    b"finished_at": ("finished_at", _seconds),
    b"duration_ms": ("duration_ms", int),
    b"dismissed": ("dismissed", lambda raw: raw == b"1"),
    b"operation": ("operation", lambda raw: MessageOperation(raw.decode())),
    b"revision": ("revision", int),
    b"note": ("note", bytes.decode),
    b"ref": ("ref", bytes.decode),
}


def encode_constants(delivery: Delivery) -> str:
    """Return the constant values as JSON; raise ChannelError if the extras are too large."""
    found = {name: getattr(delivery, name) for name in _FIXED}
    if delivery.key:
        found["key"] = storable(delivery.key)
    if delivery.thread:
        found["thread"] = storable(delivery.thread)
    if pack_extra(delivery.extra):
        found["extra"] = dict(delivery.extra)
    return json.dumps(found)


def encode_outcome(delivery: Delivery) -> str:
    """Return, as JSON, the fields of a finished delivery that the scripts do not set themselves."""
    found: dict[str, int | str] = {
        "attempts": delivery.attempts,
        "failures": delivery.failures,
        "not_before": micro_or_none(delivery.not_before),
        "expires_at": micro_or_none(delivery.expires_at),
        "parts_sent": delivery.parts_sent,
        "parts_total": delivery.parts_total,
        "provider_id": storable(delivery.provider_id),
        "error": storable(delivery.error),
        "error_class": delivery.error_class,
    }
    if delivery.dismissed:
        found["dismissed"] = 1
    if delivery.key:
        found |= {"operation": str(delivery.operation), "revision": delivery.revision}
    if delivery.ref:
        found["ref"] = delivery.ref
    if delivery.note:
        found["note"] = storable(delivery.note)
    if delivery.duration_ms is not None:
        found["duration_ms"] = delivery.duration_ms
    return json.dumps(found)


def outcome_fields(outcome: AttemptOutcome) -> list[str | int]:
    """Return the names and values that an attempt writes to the hash."""
    return [
        *("parts_sent", outcome.parts_sent, "parts_total", outcome.parts_total),
        *("error", storable(outcome.error), "error_class", outcome.error_class),
        *("duration_ms", outcome.duration_ms),
        *(("provider_id", storable(outcome.provider_id)) if outcome.provider_id else ()),
        *(("operation", str(outcome.operation)) if outcome.operation is not MessageOperation.SEND else ()),
        *(("note", storable(outcome.note)) if outcome.note else ()),
        *(("revision", outcome.revision) if outcome.revision else ()),
        *(("ref", outcome.ref) if outcome.ref or outcome.revision else ()),
        *(("kept_files", json.dumps(list(outcome.kept_files))) if outcome.kept_files else ()),
    ]


def to_delivery(pairs: Sequence[bytes]) -> Delivery:
    """Return the record from the answer to HGETALL."""
    found: dict[str, Any] = {}
    kept = None
    for name, raw in zip(pairs[::2], pairs[1::2], strict=True):
        if name == b"fixed":
            found.update({field: value for field, value in json.loads(raw).items() if field in _KNOWN})
        elif raw and name in _CHANGING:
            field, read = _CHANGING[name]
            found[field] = read(raw)
        elif name == b"kept_files":
            kept = json.loads(raw)
    found["policy"] = read_policy(found["policy"])
    if kept is not None:
        found["extra"] = {**found.get("extra", {}), KEPT_FILES: kept}
    return Delivery(**found)


def known_deliveries(records: Iterable[Sequence[bytes]]) -> list[Delivery]:
    """Return the records of deliveries, without those that only another version of the program can read."""
    found = []
    for pairs in records:
        try:
            found.append(to_delivery(pairs))
        except (ValueError, TypeError, KeyError) as error:
            log.warning(
                "a delivery was skipped, because it needs another version",
                extra={"reason": f"{type(error).__name__}: {error}"},
            )
    return found


def to_hold(raw: Sequence[bytes], now: float) -> DeliveryHold | None:
    """Return a hold from its remaining duration at `now`, or `None` if there is none."""
    if not raw:
        return None
    left, reason = raw
    return DeliveryHold(now + _seconds(left), reason.decode())
