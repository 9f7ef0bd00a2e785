"""The OpenAPI document of the gateway; a test compares it with the routes."""

from collections.abc import Sequence
from typing import Any

from tocsin import __version__
from tocsin.core.reading.fields import Field, TextType
from tocsin.core.reading.json_schema import reference
from tocsin.rest.headers import MAX_IDEMPOTENCY_KEY
from tocsin.rest.problems import PROBLEMS
from tocsin.web.gateway.deliveries import QUERY
from tocsin.web.gateway.openapi_schemas import parameter, schemas
from tocsin.web.gateway.records import TEXT

# Problems that every path except health may return: plain HTTP, the limits, a bug, a shutdown.
ANYWHERE = ("forbidden", "rate-limited", "internal-error", "not-ready")
TOKEN: list[dict[str, list[str]]] = [{}, {"token": []}]

_PREFER = Field(
    "Prefer",
    TEXT,
    doc="`respond-async` queues the message instead of sending it now; `policy`, `not_before` and `expires_at` need it",
)
_IDEMPOTENCY_KEY = Field(
    "Idempotency-Key",
    TextType(blank=True, max_chars=MAX_IDEMPOTENCY_KEY, schema={"pattern": "^[!-~]([ -~]*[!-~])?$"}),
    doc="Repeating the request gives the same answer, for 24 hours",
)
_RECEIVER = Field("channel", TEXT, required=True, doc="A channel that receives, or an alias")
_ID = Field(
    "id",
    TEXT,
    required=True,
    doc="The id of the delivery; callers who may read may shorten it to a beginning that no other has",
)


def describe_gateway(kinds: Sequence[str]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the gateway."""
    names = {"type": "array", "items": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {
            "/send": {"post": _send()},
            "/webhook/{channel}": {"post": _webhook()},
            "/deliveries": {"get": _deliveries()},
            "/deliveries/{id}": {"get": _delivery("delivery", "One delivery", reference("Delivery"))},
            "/deliveries/{id}/replay": {"post": _change("replay", "Queue it again")},
            "/deliveries/{id}/dismiss": {"post": _change("dismiss", "It ended unsent and needs no person any more")},
            "/deliveries/{id}/retry": {"post": _change("retry", "Try it now instead of at its next time")},
            "/deliveries/{id}/cancel": {"post": _change("cancel", "Do not send it after all")},
            "/health": {"get": _health("health")},
            "/api/health": {"get": _health("apiHealth")},
            "/channels": {"get": _open("channels", "The kinds of the configured channels", names)},
            "/metrics": {"get": _metrics()},
            "/openapi.json": {"get": _open("openapi", "This document", {"type": "object"})},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas(kinds)},
    }


def _send() -> dict[str, Any]:
    result = reference("SendResult")
    requests = [reference("SendRequest"), reference("QueueRequest")]
    accepted = _answer("Accepted by the durable queue (`Prefer: respond-async`)", reference("Accepted"))
    location = _header("Where to find the delivery")
    applied = _header("respond-async")
    replayed = {"Idempotent-Replayed": _header("`true` when this is a stored answer")}
    return {
        "operationId": "send",
        "summary": "Send a message to one target: now, or by the durable queue",
        "security": TOKEN,
        "parameters": [
            parameter(_PREFER, where="header"),
            parameter(_IDEMPOTENCY_KEY, where="header"),
        ],
        "requestBody": {
            "required": True,
            "description": "`QueueRequest` only with the header `Prefer: respond-async`",
            "content": {"application/json": {"schema": {"anyOf": requests}}},
        },
        "responses": {
            "200": {**_answer("The message was handed over", result), "headers": replayed},
            "202": {**accepted, "headers": {"Location": location, "Preference-Applied": applied, **replayed}},
            "404": _answer("The channel is unknown or not configured", result),
            "502": _answer("Nothing was sent; trying again may help", result),
            "504": {
                **_answer(
                    "Partly sent, or the outcome is unknown: repeat it with the same Idempotency-Key only", result
                ),
                "headers": replayed,
            },
            **_problems("invalid-request", "unauthenticated", "payload-too-large"),
            "409": {
                **_problems("conflict")["409"],
                "headers": {"Retry-After": _header("Seconds until it may be done")},
            },
            **_problems("unsupported-media-type", "validation-failed", *ANYWHERE),
            "422": _either(
                "A send result: trying again cannot help. A problem: the request is not valid, or its key came"
                " before with another one",
                result,
            ),
            "503": {
                **_either("A send result: the provider asks to wait. A problem: the service is not ready", result),
                "headers": {"Retry-After": _header("Seconds until it may be tried again; with a send result")},
            },
        },
    }


def _webhook() -> dict[str, Any]:
    anything = {"description": "Exactly what the product sent and signed", "content": {"*/*": {}}}
    answer = _answer("Taken in, or known already; the body is what the product expects, often nothing", {})
    return {
        "operationId": "webhook",
        "summary": "Take in what a product reports; the signature of the call is all the proof it needs",
        "security": [],
        "parameters": [parameter(_RECEIVER, where="path")],
        "requestBody": {"required": True, **anything},
        "responses": {
            "200": answer,
            "204": {"description": "Taken in, or known already"},
            **_problems("invalid-request", "invalid-signature", "not-found", "payload-too-large", *ANYWHERE),
        },
    }


def _deliveries() -> dict[str, Any]:
    return {
        "operationId": "deliveries",
        "summary": "The newest deliveries that match, a page at a time",
        "security": TOKEN,
        "parameters": [parameter(field) for field in QUERY.fields],
        "responses": {
            "200": _answer("One page", reference("DeliveryPage")),
            **_problems("unauthenticated", "validation-failed", *ANYWHERE),
        },
    }


def _change(name: str, summary: str) -> dict[str, Any]:
    shown = {"anyOf": [reference("Delivery"), reference("Accepted")]}
    return _delivery(name, f"{summary}; without the scope `read` the answer is `Accepted`", shown, "invalid-transition")


def _delivery(name: str, summary: str, schema: dict[str, Any], *problems: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "security": TOKEN,
        "parameters": [parameter(_ID, where="path")],
        "responses": {
            "200": _answer("The delivery as it is now", schema),
            **_problems("unauthenticated", "not-found", "validation-failed", *problems, *ANYWHERE),
        },
    }


def _health(name: str) -> dict[str, Any]:
    health = reference("Health")
    return {
        "operationId": name,
        "summary": "Whether the service can work; needs no token and no rate limit counts it",
        "responses": {
            "200": _answer("It can", health),
            "503": _answer(
                "It is stopping, or cannot write its audit log, its queue or its inbox", reference("Health")
            ),
            **_problems("internal-error"),
        },
    }


def _metrics() -> dict[str, Any]:
    kinds = ("text/plain", "application/openmetrics-text")
    text = {"description": "Text format", "content": {kind: {"schema": {"type": "string"}} for kind in kinds}}
    return {
        "operationId": "metrics",
        "summary": "All numbers, for Prometheus",
        "security": TOKEN,
        "responses": {"200": text, **_problems("unauthenticated", *ANYWHERE)},
    }


def _open(name: str, summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": _answer(summary, schema), **_problems(*ANYWHERE)},
    }


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _either(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a response with this schema or a problem document; its media type distinguishes them."""
    problem = {"application/problem+json": {"schema": reference("Problem")}}
    return {"description": description, "content": {"application/json": {"schema": schema}, **problem}}


def _header(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}


def _problems(*codes: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": reference("Problem")}}
    return {str(PROBLEMS[code][0]): {"description": PROBLEMS[code][1], "content": content} for code in codes}
