"""The public form of a delivery: in the HTTP interface, with `--json`, from Python."""

from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.model import Delivery


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
        "dismissed": delivery.dismissed,
    }


def acceptance_document(delivery: Delivery) -> dict[str, object]:
    """Return what a caller is shown who may send and not read."""
    return {"id": delivery.id, "status": str(delivery.status)}
