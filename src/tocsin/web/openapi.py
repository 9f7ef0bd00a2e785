"""The OpenAPI document of the gateway; a test holds it against the routes."""

from collections.abc import Sequence
from typing import Any

from tocsin import __version__
from tocsin.web.problems import PROBLEMS

# What every path but /health may answer: plain HTTP, the limits, a bug, a stop.
ANYWHERE = ("forbidden", "rate-limited", "internal-error", "not-ready")


def describe_gateway(kinds: Sequence[str]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the gateway."""
    health = {"$ref": "#/components/schemas/Health"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {
            "/send": {"post": _send()},
            "/health": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the service can work; needs no token and no rate limit counts it",
                    "responses": {
                        "200": _answer("It can", health),
                        "503": _answer("It is stopping, or cannot write its audit log", health),
                        **_problems("internal-error"),
                    },
                }
            },
            "/channels": _get(
                "channels", "The kinds of the configured channels", {"type": "array", "items": {"type": "string"}}
            ),
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "All numbers, for Prometheus",
                    "security": [{}, {"token": []}],
                    "responses": {
                        "200": {
                            "description": "Text format",
                            "content": {"text/plain": {"schema": {"type": "string"}}},
                        },
                        **_problems("unauthenticated", *ANYWHERE),
                    },
                }
            },
            "/openapi.json": _get("openapi", "This document", {"type": "object"}),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(kinds),
        },
    }


def _send() -> dict[str, Any]:
    result = {"$ref": "#/components/schemas/SendResult"}
    return {
        "operationId": "send",
        "summary": "Send a message to one target and wait for the outcome",
        "security": [{}, {"token": []}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SendRequest"}}},
        },
        "responses": {
            "200": _answer("The message was handed over", result),
            "404": _answer("The channel is unknown or not configured", result),
            "502": _answer("The message was not delivered; `error` says why", result),
            **_problems("invalid-request", "unauthenticated", "payload-too-large"),
            **_problems("unsupported-media-type", "validation-failed", *ANYWHERE),
        },
    }


def _schemas(kinds: Sequence[str]) -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "SendRequest": {
            "type": "object",
            "additionalProperties": False,
            "required": ["channel", "target", "message"],
            "properties": {
                "channel": {
                    "type": "string",
                    "description": f"One of {', '.join(kinds)}, or an alias",
                    "examples": list(kinds),
                },
                "target": text,
                "message": text,
            },
        },
        "SendResult": {
            "type": "object",
            "additionalProperties": False,
            "required": ["ok", "channel", "target", "message", "error"],
            "properties": {"ok": {"type": "boolean"}, "channel": text, "target": text, "message": text, "error": text},
        },
        "Health": {
            "type": "object",
            "required": ["status", "version", "channels"],
            "properties": {
                "status": {"enum": ["ok", "degraded", "draining"]},
                "version": text,
                "channels": {"type": "object", "additionalProperties": {"enum": ["configured", "unconfigured"]}},
                "problems": {"type": "array", "items": text},
            },
        },
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail", "instance", "code", "request_id"],
            "properties": {
                "type": text,
                "title": text,
                "status": {"type": "integer"},
                "detail": text,
                "instance": text,
                "code": {"enum": sorted(PROBLEMS)},
                "request_id": text,
                "errors": {"type": "array", "items": {"type": "object"}},
            },
        },
    }


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _problems(*codes: str) -> dict[str, Any]:
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        str(PROBLEMS[code][0]): {"description": PROBLEMS[code][1], "content": {"application/problem+json": schema}}
        for code in codes
    }


def _get(name: str, summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    responses = {"200": _answer(summary, schema), **_problems(*ANYWHERE)}
    return {"get": {"operationId": name, "summary": summary, "responses": responses}}
