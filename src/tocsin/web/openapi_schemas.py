"""The records in the OpenAPI document of the gateway."""

from collections.abc import Sequence
from typing import Any

from tocsin.delivery.model import Policy, Status
from tocsin.web.problems import PROBLEMS

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
MAYBE_TIME = {"type": ["string", "null"], "format": "date-time"}
COUNT = {"type": "integer", "minimum": 0}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(name: str, description: str, *, where: str = "query") -> dict[str, Any]:
    """Return the description of a text parameter."""
    return {"name": name, "in": where, "required": where == "path", "description": description, "schema": TEXT}


def schemas(kinds: Sequence[str]) -> dict[str, Any]:
    """Return all records; `kinds` are the channels there are."""
    deliveries = {"type": "array", "items": ref("Delivery")}
    return {
        "SendRequest": _send_request(kinds),
        "SendResult": _record(ok={"type": "boolean"}, channel=TEXT, target=TEXT, message=TEXT, error=TEXT),
        "Accepted": _record(id=TEXT, status={"enum": list(Status)}),
        "Delivery": _delivery(),
        "DeliveryPage": _record(items=deliveries, next_cursor=MAYBE_TEXT, total={"type": "null"}),
        "Health": _health(),
        "Problem": _problem(),
    }


def _record(*, optional: Sequence[str] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _send_request(kinds: Sequence[str]) -> dict[str, Any]:
    queued = "Only with `Prefer: respond-async`."
    channel = {"type": "string", "description": f"One of {', '.join(kinds)}, or an alias", "examples": list(kinds)}
    policy = {"enum": list(Policy), "description": f"What to do when it may have arrived. {queued}"}
    time = {"type": "string", "description": f"RFC 3339 or Unix seconds. {queued}"}
    record = _record(
        optional=("policy", "not_before", "expires_at"),
        channel=channel,
        target=TEXT,
        message=TEXT,
        policy=policy,
        not_before=time,
        expires_at=time,
    )
    return {**record, "additionalProperties": False}


def _delivery() -> dict[str, Any]:
    return _record(
        id=TEXT,
        channel=TEXT,
        target=TEXT,
        message=TEXT,
        source=TEXT,
        status={"enum": list(Status)},
        policy={"enum": list(Policy)},
        attempts=COUNT,
        next_attempt_at=MAYBE_TIME,
        not_before=MAYBE_TIME,
        expires_at=MAYBE_TIME,
        idempotency_key=MAYBE_TEXT,
        parts_sent=COUNT,
        parts_total=COUNT,
        provider_id=TEXT,
        error=TEXT,
        error_class={"enum": ["", "permanent", "transient", "ambiguous", "rate_limited"]},
        created_at=TEXT,
        finished_at=MAYBE_TIME,
        duration_ms={"type": ["integer", "null"]},
    )


def _health() -> dict[str, Any]:
    return _record(
        optional=("problems",),
        status={"enum": ["ok", "degraded", "draining"]},
        version=TEXT,
        queue=_record(backend={"enum": ["sqlite", "redis"]}, status={"enum": ["ok", "failing"]}),
        inbox=_record(status={"enum": ["ok", "failing"]}, open=COUNT),
        bus=_record(status={"enum": ["off", "ok", "failing"]}),
        channels={"type": "object", "additionalProperties": {"enum": ["configured", "unconfigured"]}},
        problems={"type": "array", "items": TEXT},
    )


def _problem() -> dict[str, Any]:
    return _record(
        optional=("errors",),
        type=TEXT,
        title=TEXT,
        status={"type": "integer"},
        detail=TEXT,
        instance=TEXT,
        code={"enum": sorted(PROBLEMS)},
        request_id=TEXT,
        errors={"type": "array", "items": {"type": "object"}},
    )
