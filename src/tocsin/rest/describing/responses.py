"""OpenAPI descriptions of operations: their problems by status, the headers that they support, and forms with files."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.rest.problems import PROBLEMS

PROBLEM_JSON = "application/problem+json"
RECEIPT = "x-receipt"  # whether callers without the scope `read` get a receipt
CODES = "x-problems"  # the problem codes that a status may have
Answers = dict[int | str, dict[str, Any]]


def _header(name: str, description: str, schema: Mapping[str, Any] | None = None, **further: Any) -> dict[str, Any]:
    shape = {"type": "string", **(schema or {})}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": shape, **further}


_KEY = _header(
    "Idempotency-Key",
    "A repeated request with the same key returns the first response and has no further effect.",
    {"minLength": 1, "maxLength": 255},
)
_PREFER = _header(
    "Prefer",
    "`wait=N` waits up to N seconds (at most 30) until the started operation has ended (RFC 7240).",
    example="wait=10",
)
_IF_MATCH = _header(
    "If-Match", "`ETag` of the record that you read; the response is 412 if the record has changed since."
)
_IF_NONE_MATCH = _header(
    "If-None-Match", "`ETag` of the record that you have; the response is 304 if the record has not changed."
)
UNCHANGED: Answers = {304: {"description": "The record has the `ETag` given in `If-None-Match`."}}


def describe_headers(*, once: bool, waits: bool, is_conditional: bool, is_record: bool) -> list[dict[str, Any]]:
    """Return the parameters for the headers that an operation supports."""
    honoured = ((once, _KEY), (waits, _PREFER), (is_conditional, _IF_MATCH), (is_record, _IF_NONE_MATCH))
    return [dict(parameter) for wanted, parameter in honoured if wanted]


def describe_responses(codes: Sequence[str], further: Mapping[int | str, Mapping[str, Any]]) -> Answers:
    """Return the responses by status: problems with these codes, and the responses that the operation describes."""
    found: Answers = {}
    for code in sorted(set(codes), key=lambda code: (PROBLEMS[code].status, code)):
        status, title, _ = PROBLEMS[code]
        told = f"{title} (`{code}`)"
        before = found.get(status)
        found[status] = {
            "description": f"{before['description']}; {told}" if before else told,
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            CODES: [*(before[CODES] if before else ()), code],
        }
    for given, answer in further.items():
        found[given] = _joined(found.get(given, {}), answer)
    return found


def _joined(problems: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response that may also be a problem."""
    if not problems:
        return dict(answer)
    told = [each["description"] for each in (answer, problems) if each.get("description")]
    content = {**problems["content"], **answer.get("content", {})}
    return {**answer, "description": "; ".join(told), "content": content, CODES: problems[CODES]}


def describe_form(message: dict[str, Any]) -> dict[str, Any]:
    """Return the media type object of a form whose part `message` has the schema `message`. See RFC 7578."""
    return {
        "schema": {
            "type": "object",
            "description": "The message, and its files. Every part with a file name is attached, in their order.",
            "properties": {
                "message": message,
                "file": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
            },
            "required": ["message"],
        },
        "encoding": {"message": {"contentType": "application/json"}},
    }
