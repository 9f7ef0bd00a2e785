"""Error bodies: RFC 9457 problem documents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.responses import Response

# code: (status, title). The title is for people and may be reworded; programs switch on the code.
PROBLEMS = {
    "invalid-request": (400, "The request cannot be read"),
    "invalid-signature": (401, "The call is not proved to come from the product"),
    "unauthenticated": (401, "The token is missing or wrong"),
    "forbidden": (403, "This is not allowed"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "conflict": (409, "The request is already being worked on"),
    "invalid-transition": (409, "This is not possible in the present state"),
    "payload-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The media type is not supported"),
    "validation-failed": (422, "The request is not valid"),
    "idempotency-key-reused": (422, "The key belongs to another request"),
    "rate-limited": (429, "Too many requests"),
    "internal-error": (500, "Something is broken here"),
    "not-ready": (503, "The service is not ready"),
}


@dataclass(slots=True)
class HttpProblemError(Exception):  # it is raised to become an answer, not to report a bug
    """A request that gets a problem document as its answer."""

    code: str
    detail: str
    errors: Sequence[Mapping[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self, request_id: str) -> Response:
        """Return the answer, named by the request's id."""
        status, title = PROBLEMS[self.code]
        document: dict[str, object] = {
            "type": f"/problems/{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "instance": f"urn:request:{request_id}",
            "code": self.code,
            "request_id": request_id,
        }
        if self.errors:
            document["errors"] = list(self.errors)
        return Response(json.dumps(document), status, dict(self.headers), "application/problem+json")
