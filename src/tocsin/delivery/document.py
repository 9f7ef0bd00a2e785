"""The public form of a delivery: in the HTTP interface, with `--json`, from Python."""

from datetime import UTC, datetime
from math import isnan

from tocsin.delivery.model import Delivery

LATEST = 253_402_300_799.0  # the end of the year 9999, the last that a date can represent


def delivery_document(delivery: Delivery) -> dict[str, object]:
    """Return the record as a dictionary; times are RFC 3339 in UTC with milliseconds."""
    return {
        "id": delivery.id,
        "channel": delivery.channel,
        "target": delivery.target,
        "message": delivery.message,
        "source": delivery.source,
        "status": str(delivery.status),
        "policy": str(delivery.policy),
        "attempts": delivery.attempts,
        "next_attempt_at": timestamp(delivery.next_attempt_at),
        "not_before": timestamp(delivery.not_before),
        "expires_at": timestamp(delivery.expires_at),
        "idempotency_key": delivery.idempotency_key,
        "parts_sent": delivery.parts_sent,
        "parts_total": delivery.parts_total,
        "provider_id": delivery.provider_id,
        "error": delivery.error,
        "error_class": delivery.error_class,
        "created_at": timestamp(delivery.created_at),
        "finished_at": timestamp(delivery.finished_at),
        "duration_ms": delivery.duration_ms,
    }


def timestamp(seconds: float | None) -> str | None:
    """Return Unix seconds as RFC 3339, limited to the range of dates."""
    if seconds is None or isnan(seconds):
        return None
    moment = datetime.fromtimestamp(min(max(seconds, 0.0), LATEST), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Return RFC 3339 or plain Unix seconds as Unix seconds; raise ValueError with what is accepted."""
    seconds = _plain_seconds(text)
    if seconds is None or not 0 <= seconds <= LATEST:
        raise ValueError("a time such as 2026-11-20T08:00:00Z, or Unix seconds")
    return seconds


def _plain_seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
