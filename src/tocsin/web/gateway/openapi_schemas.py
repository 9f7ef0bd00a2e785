"""The records in the OpenAPI document of the gateway."""

from collections.abc import Sequence
from typing import Any

from tocsin.delivery.model import DeliveryStatus, Policy
from tocsin.web.http.problems import PROBLEMS

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
MAYBE_TIME = {"type": ["string", "null"], "format": "date-time"}
COUNT = {"type": "integer", "minimum": 0}
TIME = {"type": "string", "anyOf": [{"format": "date-time"}, {"pattern": r"^[0-9]{1,11}(\.[0-9]+)?$"}]}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(
    name: str, description: str, *, where: str = "query", schema: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the description of a parameter; a text unless `schema` says more."""
    shape = schema or TEXT
    return {"name": name, "in": where, "required": where == "path", "description": description, "schema": shape}


def schemas(kinds: Sequence[str]) -> dict[str, Any]:
    """Return all records; `kinds` are the channels there are."""
    deliveries = {"type": "array", "items": ref("Delivery")}
    return {
        "SendRequest": _send_request(kinds),
        "QueueRequest": _queue_request(kinds),
        "SendResult": _record(ok={"type": "boolean"}, channel=TEXT, target=TEXT, message=TEXT, error=TEXT),
        "Accepted": _record(id=TEXT, status={"enum": list(DeliveryStatus)}),
        "Delivery": _delivery(),
        "DeliveryPage": _record(items=deliveries, next_cursor=MAYBE_TEXT, total={"type": "null"}),
        "Health": _health(),
        "Problem": _problem(),
    }


def _record(*, optional: Sequence[str] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _send_request(kinds: Sequence[str]) -> dict[str, Any]:
    channel = {"type": "string", "description": f"One of {', '.join(kinds)}, or an alias", "examples": list(kinds)}
    return {**_record(channel=channel, target=TEXT, message=TEXT), "additionalProperties": False}


def _queue_request(kinds: Sequence[str]) -> dict[str, Any]:
    """Describe a request with terms: an OpenAPI document cannot tie a field of the body to a header."""
    send, only = _send_request(kinds), "Only with `Prefer: respond-async`, else the request is refused."
    terms = {
        "policy": {"enum": list(Policy), "description": f"What to do when it may have arrived. {only}"},
        "not_before": {**TIME, "description": f"RFC 3339 or Unix seconds. {only}"},
        "expires_at": {**TIME, "description": f"RFC 3339 or Unix seconds. {only}"},
    }
    one_of_them = [{"required": [name]} for name in terms]
    return {**send, "properties": {**send["properties"], **terms}, "anyOf": one_of_them}


def _delivery() -> dict[str, Any]:
    return _record(
        id=TEXT,
        channel=TEXT,
        target=TEXT,
        message=TEXT,
        source=TEXT,
        status={"enum": list(DeliveryStatus)},
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
        optional=("problems", "failing", "throttled", "bot"),
        status={"enum": ["ok", "degraded", "draining"]},
        version=TEXT,
        instance=TEXT,
        queue=_record(backend={"enum": ["sqlite", "redis"]}, status={"enum": ["ok", "failing"]}),
        inbox=_record(status={"enum": ["ok", "failing"]}, open=COUNT),
        bus=_record(status={"enum": ["off", "ok", "failing"]}),
        channels={"type": "object", "additionalProperties": {"enum": ["configured", "unconfigured"]}},
        problems={"type": "array", "items": TEXT},
        failing={"type": "object", "additionalProperties": TEXT},
        throttled={"type": "object", "additionalProperties": TEXT},
        bot=_record(
            mode=TEXT, status=TEXT, age_s={"type": ["number", "null"]}, chat_model={"enum": ["off", "ok", "failing"]}
        ),
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
