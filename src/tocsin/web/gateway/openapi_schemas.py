"""The records in the OpenAPI document of the gateway, generated from those that validate its requests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tocsin.channels.content import ACTION
from tocsin.channels.contract import SendResult
from tocsin.core.reading.fields import Field
from tocsin.core.reading.json_schema import build_schema, field_schema, record_schema
from tocsin.core.records.schema import RecordSchemas
from tocsin.delivery.model import Accepted
from tocsin.web.gateway.deliveries import DeliveryPage
from tocsin.web.gateway.records import (
    CHANNEL,
    FAN_OUT,
    HEALTH,
    PROBLEM,
    PROFILE_REQUEST,
    QUEUE_REQUEST,
    SEND_REQUEST,
    TERMS,
)


def parameter(field: Field, *, where: str = "query") -> dict[str, Any]:
    return {
        "name": field.name,
        "in": where,
        "required": field.required,
        "description": field.doc,
        "schema": field_schema(replace(field, doc="")),
    }


def schemas(kinds: Sequence[str]) -> dict[str, Any]:
    """Return all records; `kinds` are the available channels."""
    answers = RecordSchemas(closed=False)
    for record in (SendResult, Accepted, DeliveryPage):
        answers.of(record)
    requests = {"SendRequest": record_schema(SEND_REQUEST), "QueueRequest": _queue_request()}
    for request in requests.values():
        described = {"description": f"One of {', '.join(kinds)}, or an alias", "examples": list(kinds)}
        request["properties"][CHANNEL.name] = {**build_schema(CHANNEL.type), **described}
    requests["ProfileRequest"] = record_schema(PROFILE_REQUEST)
    written = {record.name: record_schema(record) for record in (HEALTH, PROBLEM, ACTION, FAN_OUT)}
    return {**requests, **answers.found, **written}


def _queue_request() -> dict[str, Any]:
    """Describe a conditional request: an OpenAPI document cannot relate a field of the body to a header."""
    schema = record_schema(QUEUE_REQUEST)
    for term in TERMS:
        only = f"{term.doc} Requires `Prefer: respond-async`."
        schema["properties"][term.name]["description"] = only
    return {**schema, "anyOf": [{"required": [term.name]} for term in TERMS]}
