"""JSON bodies and queries of requests, and their fields."""

from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from starlette.types import Scope

from tocsin.core.reading.fields import RecordType, RecordValues
from tocsin.core.reading.json_value import JsonIssue, JsonIssues, JsonValue, Members, decode_json, read_json, read_texts
from tocsin.rest.headers import header_values, media_type
from tocsin.rest.problems import HttpProblemError

MAX_REASONS = 3  # why a query is refused


def parse_fields(
    scope: Scope, raw: bytes, record: RecordType, others: Mapping[str, RecordType], kind: str
) -> Mapping[str, Any]:
    """Return the fields of a JSON body; raise the problem of an invalid one.

    Absent fields without a default are omitted. A body with a field of `others` is another record.
    `kind` is the media type of `raw`; empty means that of the request.
    """
    members = parse_json_object(kind or read_media_type(scope), raw)
    body = read_texts(record, members)
    if body is not None:
        return body
    record = next((others[name] for name, _ in members if name in others), record)
    found, issues = read_json(record, members)
    if issues.count:
        raise _refusal(issues)
    return found.values


def parse_query(scope: Scope, record: RecordType) -> RecordValues[JsonValue]:
    """Return the parameters of the query; raise the problem of invalid ones."""
    text = scope["query_string"].decode("latin-1")
    query, issues = read_json(record, tuple(parse_qsl(text, keep_blank_values=True)))
    if issues.count:
        raise HttpProblemError("validation-failed", f"{'; '.join(map(str, issues.shown[:MAX_REASONS]))}.")
    return query


def refuse_field(key: str, code: str, detail: str) -> NoReturn:
    """Raise the problem of a body with one invalid field `key`."""
    issues = JsonIssues()
    issues.add(JsonIssue((key,), code, detail))
    raise _refusal(issues)


def _refusal(issues: JsonIssues) -> HttpProblemError:
    count = "1 field needs" if issues.count == 1 else f"{issues.count} fields need"
    more = f"; the first {len(issues.shown)} are listed" if issues.count > len(issues.shown) else ""
    return HttpProblemError("validation-failed", f"{count} attention{more}", list(map(_error, issues.shown)))


def _error(issue: JsonIssue) -> dict[str, str]:
    """Return the entry of a problem document that points at a field."""
    near = {"suggestion": issue.near} if issue.near else {}
    return {"pointer": issue.pointer, "code": issue.code, "detail": issue.detail, "key": issue.key, **near}


def parse_json_object(kind: str, raw: bytes) -> Members:
    """Return the members of the JSON object in `raw`; raise 415, 400 or 422 if it is invalid."""
    if kind != "application/json":
        found = f", not {kind[:100]}" if kind else ""
        raise HttpProblemError(
            "unsupported-media-type", f"The body must be JSON with `Content-Type: application/json`{found}."
        )
    try:
        body = decode_json(raw)
    except (ValueError, RecursionError):
        raise HttpProblemError("invalid-request", "The body is not valid JSON in UTF-8.") from None
    if not isinstance(body, tuple):
        raise HttpProblemError("validation-failed", "The body must be a JSON object.")
    return body


def read_media_type(scope: Scope) -> str:
    """Return the media type of the body in lower case; raise 415 if it is malformed."""
    return media_type(header_values(scope, b"content-encoding"), header_values(scope, b"content-type"))
