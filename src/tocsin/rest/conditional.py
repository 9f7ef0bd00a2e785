"""ETags: reject changes to a record that was changed since it was read, and do not resend unchanged records."""

import json
from hashlib import sha256
from typing import TypeVar

from fastapi import Request, Response

from tocsin.rest.problems import HttpProblemError

T = TypeVar("T")


def make_etag(version: object) -> str:
    """Return the ETag of a record; `version` changes with the record, such as its time of change or its content."""
    return _quoted(json.dumps(version, sort_keys=True, default=str).encode())


def tag(response: Response, record: T, version: object) -> T:
    """Set the ETag header of the response and return the record."""
    response.headers["ETag"] = make_etag(version)
    return record


def answer_record(request: Request, response: Response) -> Response:
    """Return the response with a record, or 304 if `If-None-Match` has its ETag.

    The ETag is computed from the body, unless the response has an ETag or is not JSON.
    """
    is_json = response.headers.get("content-type", "").startswith("application/json")
    if response.status_code == 200 and is_json and "etag" not in response.headers:
        response.headers["ETag"] = _quoted(bytes(response.body))
    known = _read_tags(request, "if-none-match")
    if not known or "etag" not in response.headers or not is_json:
        return response
    # Section 13.1.2 of RFC 9110 requires weak comparison.
    if "*" in known or response.headers["etag"] in {each.removeprefix("W/") for each in known}:
        return Response(status_code=304, headers={"ETag": response.headers["etag"]})
    return response


def check_unchanged(request: Request, version: object) -> None:
    """Raise a 412 problem if `If-Match` does not have the ETag of the current version."""
    values = _read_tags(request, "if-match")
    if values and "*" not in values and make_etag(version) not in values:
        raise HttpProblemError("precondition-failed", "The record has changed since you read it. Read it again.")


def wants_new(request: Request) -> bool:
    """Whether the caller only wants to create a record, not to replace one: `If-None-Match: *`."""
    return "*" in _read_tags(request, "if-none-match")


def _read_tags(request: Request, header: str) -> list[str]:
    return [tag.strip() for value in request.headers.getlist(header) for tag in value.split(",")]


def _quoted(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:24]}"'
