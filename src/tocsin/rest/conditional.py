"""ETags: a change is refused when the record has changed since it was read."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from fastapi import Request, Response

from tocsin.rest.problems import HttpProblemError


def etag_of(version: object) -> str:
    """Return the ETag of a record; `version` is whatever changes with it: its time of change, or what it holds."""
    return _quoted(json.dumps(version, sort_keys=True, default=str).encode())


def tag(response: Response, record: Mapping[str, Any], version: object) -> Mapping[str, Any]:
    """Return the record that is answered, with its ETag in the head."""
    response.headers["ETag"] = etag_of(version)
    return record


def tag_as_answered(response: Response) -> Response:
    """Return an answer with an ETag made of its body, unless it has one, or is no JSON that is sent at once."""
    is_json = response.headers.get("content-type", "").startswith("application/json")
    if response.status_code == 200 and is_json and "etag" not in response.headers:
        response.headers["ETag"] = _quoted(bytes(response.body))
    return response


def check_unchanged(request: Request, version: object) -> None:
    """Raise the 412 answer where `If-Match` names another version than the present one."""
    values = [tag.strip() for value in request.headers.getlist("if-match") for tag in value.split(",")]
    if values and "*" not in values and etag_of(version) not in values:
        raise HttpProblemError("precondition-failed", "The record has changed since you read it: read it again.")


def _quoted(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:24]}"'
