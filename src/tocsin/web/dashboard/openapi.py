"""The OpenAPI document of the dashboard, generated from the models of its operations."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tocsin import __version__
from tocsin.core.records.schema import RecordSchemas
from tocsin.rest.describing.responses import RECEIPT, describe_form
from tocsin.rest.headers import FORM_DATA, JSON
from tocsin.rest.models import RecordReceipt
from tocsin.rest.operations import Operation, operation, problem_schema
from tocsin.web.dashboard.shared_parts import share_parts

_DESCRIPTION = (
    "Read and control everything that Tocsin does.\n\n"
    "Authenticate with HTTP Basic (DASHBOARD_USER and DASHBOARD_PASS), with a session cookie (`POST /login`), or "
    "with a token\n"
    "(`tocsin tokens create`) as `Authorization: Bearer`. `x-scope` names the scope that a token needs. Errors "
    "are problem\n"
    "documents (RFC 9457); use `code` to distinguish them. Lists are paginated: pass `next_cursor` as `cursor`. "
    "Times are\n"
    "RFC 3339 in UTC. A token without the scope `read` must send complete IDs, and gets a `RecordReceipt` for a "
    "record that it\n"
    "creates or changes. Every response has an `X-Request-Id`, which also appears in the audit log; `RateLimit` "
    "shows the\n"
    "remaining requests.\n"
)
_SECURITY = {
    "basic": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "session": {"type": "apiKey", "in": "cookie", "name": "session"},
}
_HEADERS = {
    "ETag": {
        "description": "Version of the record, for `If-None-Match`, and for `If-Match` of a change.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "Path of the created or started record.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds to wait before the next attempt.",
        "schema": {"type": "integer", "minimum": 0},
    },
}
_SENT_WITH = (("201", "Location"), ("202", "Location"), ("429", "Retry-After"))


class OpenApiRoutes:
    """The operation that returns the document."""

    def __init__(self, make_document: Callable[[], dict[str, Any]]) -> None:
        self._document = cache(make_document)

    @operation("GET", "/api/openapi.json", extension=True, answer=dict[str, Any])
    async def get_openapi_document(self) -> Any:
        """Return this document."""
        return self._document()


def describe_dashboard(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    return describe(app.router.routes)


def _add_media(document: dict[str, Any], schemas: dict[str, Any], routes: Sequence[Any]) -> None:
    """Add the schemas of the records that operations return, and of the forms that they take."""
    records = RecordSchemas()
    for route in (each for each in routes if isinstance(each, Operation)):
        for method in route.methods or ():
            answers = document["paths"][route.path][method.lower()]["responses"]
            for status, type_ in route.shows.items():
                content = answers.setdefault(str(status), {}).setdefault("content", {})
                content.setdefault(JSON, {})["schema"] = records.of(type_)
            if FORM_DATA in route.media:
                content = document["paths"][route.path][method.lower()]["requestBody"]["content"]
                content[FORM_DATA] = describe_form(content[JSON]["schema"])
    schemas |= records.found


def describe(routes: Sequence[Any]) -> dict[str, Any]:
    document = get_openapi(
        title="Tocsin",
        version=__version__,
        description=_DESCRIPTION,
        routes=routes,
        license_info={"name": "MIT", "identifier": "MIT"},
        servers=[{"url": "/"}],
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    _add_media(document, schemas, routes)
    problem = problem_schema()
    schemas |= problem.pop("$defs", {})
    schemas["Problem"] = problem
    # The framework's own form of a 422 is never sent.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["RecordReceipt"] = RecordReceipt.model_json_schema()
    document["components"] |= {"securitySchemes": _SECURITY, "headers": _HEADERS}
    for operations in document["paths"].values():
        for described in operations.values():
            _complete(described)
    share_parts(document)
    return document


def _complete(described: dict[str, Any]) -> None:
    if described.pop(RECEIPT, False):
        _add_receipts(described["responses"])
    if described.get("x-scope"):
        described["security"] = [{"basic": []}, {"token": []}, {"session": []}]
    answers: Mapping[str, Any] = described["responses"]
    found = answers.get("422", {})
    if "HTTPValidationError" in str(found):  # a path parameter, which cannot be invalid
        described["responses"] = {status: answer for status, answer in answers.items() if status != "422"}
    is_record = any(each["name"] == "If-None-Match" for each in described.get("parameters", ()))
    for status, name in (*_SENT_WITH, *(("200", "ETag"), ("304", "ETag")) * is_record):
        if status in described["responses"]:
            described["responses"][status]["headers"] = {name: {"$ref": f"#/components/headers/{name}"}}


def _add_receipts(answers: Mapping[str, Any]) -> None:
    for status, answer in answers.items():
        media = answer.get("content", {}).get(JSON)
        if status.startswith("2") and media:
            media["schema"] = {"anyOf": [media["schema"], {"$ref": "#/components/schemas/RecordReceipt"}]}
