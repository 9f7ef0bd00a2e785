"""The OpenAPI document of the gateway; a test compares it with the routes."""

from collections.abc import Sequence
from typing import Any

from tocsin import __version__
from tocsin.core.reading.fields import Field, TextType
from tocsin.core.reading.json_schema import reference
from tocsin.rest.describing.responses import describe_form
from tocsin.rest.headers import FORM_DATA, JSON, MAX_IDEMPOTENCY_KEY
from tocsin.rest.problems import PROBLEMS
from tocsin.web.gateway.deliveries import QUERY
from tocsin.web.gateway.openapi_schemas import parameter, schemas
from tocsin.web.gateway.records import TEXT, WITHDRAWAL_QUERY

# Problems that every path except health may return: plain HTTP, the limits, a bug, a shutdown.
ANYWHERE = ("forbidden", "rate-limited", "internal-error", "not-ready")
TOKEN: list[dict[str, list[str]]] = [{}, {"token": []}]

_PREFER = Field(
    "Prefer",
    TEXT,
    doc="`respond-async` queues the message instead of sending it now; required for `policy`, `not_before` "
    "and `expires_at`",
)
_IDEMPOTENCY_KEY = Field(
    "Idempotency-Key",
    TextType(blank=True, max_chars=MAX_IDEMPOTENCY_KEY, schema={"pattern": "^[!-~]([ -~]*[!-~])?$"}),
    doc="A repeated request with the same key returns the first response, for 24 hours",
)
_RECEIVER = Field("channel", TEXT, required=True, doc="Channel that receives messages, or an alias")
_CHANNEL = Field("channel", TEXT, required=True, doc="Channel, or an alias")
_KEY = Field("key", TEXT, required=True, doc="`key` that the message was sent with")
_PREFER_WITHDRAWAL = Field("Prefer", TEXT, doc="`respond-async` queues the withdrawal instead of doing it now")
_ID = Field(
    "id",
    TEXT,
    required=True,
    doc="ID of the delivery; callers with the scope `read` may give a unique prefix",
)
_LINK = Field("token", TEXT, required=True, doc="Token of the link in the message")
_FILE = Field("name", TEXT, required=True, doc="`api.html`, or a file that it loads")


def describe_gateway(kinds: Sequence[str]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the gateway."""
    names = {"type": "array", "items": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {
            "/send": {"post": _send()},
            "/messages/{channel}/{key}": {"delete": _withdraw()},
            "/webhook/{channel}": {"post": _webhook()},
            "/a/{token}": {"get": _press_page("pressPage"), "post": _press_page("press")},
            "/deliveries": {"get": _deliveries()},
            "/deliveries/{id}": {"get": _delivery("delivery", "One delivery", reference("Delivery"))},
            "/deliveries/{id}/replay": {"post": _change("replay", "Queue a delivery again")},
            "/deliveries/{id}/dismiss": {
                "post": _change("dismiss", "Dismiss a failed delivery, so that it is no longer reported")
            },
            "/deliveries/{id}/retry": {"post": _change("retry", "Make the next attempt now")},
            "/deliveries/{id}/cancel": {"post": _change("cancel", "Cancel a waiting delivery")},
            "/health": {"get": _health("health")},
            "/api/health": {"get": _health("apiHealth")},
            "/channels": {"get": _open("channels", "Kinds of the configured channels", names)},
            "/metrics": {"get": _metrics()},
            "/openapi.json": {"get": _open("openapi", "This document", {"type": "object"})},
            "/docs/{name}": {"get": _page()},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas(kinds)},
    }


def _send() -> dict[str, Any]:
    result = reference("SendResult")
    requests = [reference("SendRequest"), reference("QueueRequest"), reference("ProfileRequest")]
    many = reference("FanOut")
    accepted = _either_result("The message was queued durably (`Prefer: respond-async`)", reference("Accepted"), many)
    location = _header("URL of the delivery; of the list, for a profile")
    applied = _header("respond-async")
    replayed = {"Idempotent-Replayed": _header("`true` if this is a stored response")}
    return {
        "operationId": "send",
        "summary": "Send a message to one target, directly or through the durable queue",
        "security": TOKEN,
        "parameters": [
            parameter(_PREFER, where="header"),
            parameter(_IDEMPOTENCY_KEY, where="header"),
        ],
        "requestBody": {
            "required": True,
            "description": "`QueueRequest` only with the header `Prefer: respond-async`",
            "content": {JSON: {"schema": {"anyOf": requests}}, FORM_DATA: describe_form({"anyOf": requests})},
        },
        "responses": {
            "200": {**_either_result("The message was sent", result, many), "headers": replayed},
            "207": _answer("Some targets of the profile received the message", many),
            "202": {**accepted, "headers": {"Location": location, "Preference-Applied": applied, **replayed}},
            "404": _either(
                "A send result: the channel is unknown or not configured. A problem document: the profile is unknown",
                result,
            ),
            "502": _either_result("No part was sent. Retrying may help", result, many),
            "504": {
                **_either_result(
                    "Partly sent, or the outcome is unknown. Repeat the request only with the same Idempotency-Key",
                    result,
                    many,
                ),
                "headers": replayed,
            },
            **_problems("invalid-request", "unauthenticated", "payload-too-large"),
            "409": {
                **_problems("conflict")["409"],
                "headers": {"Retry-After": _header("Seconds until the action is allowed")},
            },
            **_problems("unsupported-media-type", "validation-failed", *ANYWHERE),
            "422": _either(
                "A send result: retrying cannot help. A problem document: the request is invalid, or its key was "
                "used with another one",
                {"anyOf": [result, many]},
            ),
            "503": {
                **_either(
                    "A send result: the provider limits the rate. A problem document: the service is not ready", result
                ),
                "headers": {
                    "Retry-After": _header("Seconds until the next attempt is allowed; only with a send result")
                },
            },
        },
    }


def _withdraw() -> dict[str, Any]:
    result = reference("SendResult")
    location, applied = _header("URL of the delivery"), _header("respond-async")
    return {
        "operationId": "withdraw",
        "summary": "Withdraw the message that was sent with a key",
        "security": TOKEN,
        "parameters": [
            parameter(_CHANNEL, where="path"),
            parameter(_KEY, where="path"),
            *map(parameter, WITHDRAWAL_QUERY.fields),
            parameter(_PREFER_WITHDRAWAL, where="header"),
        ],
        "responses": {
            "200": _answer("The message is withdrawn, now or earlier", result),
            "202": {
                **_answer("The withdrawal was queued (`Prefer: respond-async`)", reference("Accepted")),
                "headers": {"Location": location, "Preference-Applied": applied},
            },
            "404": _either("A send result: the channel is unknown. A problem document: no message has the key", result),
            "502": _answer("The message was not withdrawn. Retrying may help", result),
            "504": _answer("The outcome is unknown. Repeat the request", result),
            **_problems("unauthenticated", *ANYWHERE),
            "422": _either("A send result: retrying cannot help. A problem document: the request is invalid", result),
            "503": _either("A send result: the provider limits the rate. A problem document: not ready", result),
        },
    }


def _webhook() -> dict[str, Any]:
    anything = {"description": "The request body exactly as the product sent and signed it", "content": {"*/*": {}}}
    answer = _answer("The event was accepted, or is a duplicate. The body is what the product expects, often empty", {})
    return {
        "operationId": "webhook",
        "summary": "Receive a webhook event; its signature is the only authentication",
        "security": [],
        "parameters": [parameter(_RECEIVER, where="path")],
        "requestBody": {"required": True, **anything},
        "responses": {
            "200": answer,
            "204": {"description": "The event was accepted, or is a duplicate"},
            **_problems("invalid-request", "invalid-signature", "not-found", "payload-too-large", *ANYWHERE),
        },
    }


def _deliveries() -> dict[str, Any]:
    return {
        "operationId": "deliveries",
        "summary": "List matching deliveries, newest first",
        "security": TOKEN,
        "parameters": [parameter(field) for field in QUERY.fields],
        "responses": {
            "200": _answer("One page", reference("DeliveryPage")),
            **_problems("unauthenticated", "validation-failed", *ANYWHERE),
        },
    }


def _change(name: str, summary: str) -> dict[str, Any]:
    shown = {"anyOf": [reference("Delivery"), reference("Accepted")]}
    return _delivery(
        name, f"{summary}; without the scope `read`, the response is `Accepted`", shown, "invalid-transition"
    )


def _delivery(name: str, summary: str, schema: dict[str, Any], *problems: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "security": TOKEN,
        "parameters": [parameter(_ID, where="path")],
        "responses": {
            "200": _answer("The delivery", schema),
            **_problems("unauthenticated", "not-found", "validation-failed", *problems, *ANYWHERE),
        },
    }


def _health(name: str) -> dict[str, Any]:
    health = reference("Health")
    return {
        "operationId": name,
        "summary": "Check whether the service is ready; needs no token and is not rate limited",
        "responses": {
            "200": _answer("It can", health),
            "503": _answer(
                "The service is stopping, or cannot write its audit log, queue or inbox", reference("Health")
            ),
            **_problems("internal-error"),
        },
    }


def _metrics() -> dict[str, Any]:
    kinds = ("text/plain", "application/openmetrics-text")
    text = {"description": "Text format", "content": {kind: {"schema": {"type": "string"}} for kind in kinds}}
    return {
        "operationId": "metrics",
        "summary": "Metrics for Prometheus",
        "security": TOKEN,
        "responses": {"200": text, **_problems("unauthenticated", *ANYWHERE)},
    }


def _press_page(name: str) -> dict[str, Any]:
    page = {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}
    gone = {**page, "description": "The page says why the button cannot be pressed"}
    return {
        "operationId": name,
        "summary": "Page of a button in a message: GET shows it, POST presses it",
        "parameters": [parameter(_LINK, where="path")],
        "responses": {"200": page, "410": gone, **_problems("not-found", *ANYWHERE)},
    }


def _page() -> dict[str, Any]:
    kinds = ("text/html", "text/css", "text/javascript", "image/svg+xml")
    file = {"description": "The file", "content": {kind: {"schema": {"type": "string"}} for kind in kinds}}
    return {
        "operationId": "apiPage",
        "summary": "Page that shows and tries these operations, and the files that it loads",
        "parameters": [parameter(_FILE, where="path")],
        "responses": {"200": file, **_problems("not-found", *ANYWHERE)},
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


def _either_result(description: str, *schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe a response with one of these schemas."""
    return _answer(description, {"anyOf": list(schemas)})


def _header(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}


def _problems(*codes: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": reference("Problem")}}
    return {str(PROBLEMS[code][0]): {"description": PROBLEMS[code][1], "content": content} for code in codes}
