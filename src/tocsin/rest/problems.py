"""Error bodies: RFC 9457 problem documents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from starlette.responses import Response


class ProblemType(NamedTuple):
    """A kind of problem. The title is for people and may be reworded; programs use the code."""

    status: int
    title: str
    advice: str  # the usual cause, and the remedy


PROBLEMS = {
    "invalid-request": ProblemType(
        400, "The request is malformed", "Send a JSON document in UTF-8, with the documented headers."
    ),
    "invalid-signature": ProblemType(
        401,
        "The webhook signature is invalid",
        "Compare the webhook secret in the product with the setting. The log has the reason.",
    ),
    "unauthenticated": ProblemType(
        401,
        "Authentication failed",
        "Sign in, or send a token with `Authorization: Bearer`, or the user name and password of the dashboard.",
    ),
    "invalid-credentials": ProblemType(
        401, "The user name or password is wrong", "Check DASHBOARD_USER and DASHBOARD_PASS in the settings."
    ),
    "forbidden": ProblemType(403, "Access denied", "Use a token with the scope that the detail names."),
    "cross-site-request": ProblemType(
        403,
        "The request comes from a page of another site",
        "Send the request from the dashboard itself, or with a token.",
    ),
    "command-denied": ProblemType(
        403, "The command is on the deny list", "Use another command, or change ssh_deny.txt in the data directory."
    ),
    "not-found": ProblemType(404, "Not found", "Check the name or ID against the list of existing records."),
    "method-not-allowed": ProblemType(405, "Method not allowed", "Use a method listed in the `Allow` header."),
    "not-acceptable": ProblemType(406, "Not acceptable", "Set `Accept` to a media type that the operation provides."),
    "conflict": ProblemType(
        409, "The request conflicts with the current state", "Read the record again. The detail names the conflict."
    ),
    "name-taken": ProblemType(
        409, "The name is already in use", "Choose another name, or change the record that uses it."
    ),
    "invalid-transition": ProblemType(
        409, "The current state does not allow this", "Read the record again to see its current state."
    ),
    "run-already-active": ProblemType(
        409, "Already running", "Wait until the active run has ended, or cancel it. The detail names the run."
    ),
    "dependency-missing": ProblemType(
        409, "A required program is not installed", "Install the program that `missing` in the detail names."
    ),
    "disabled": ProblemType(409, "Disabled", "Enable it first."),
    "precondition-failed": ProblemType(
        412, "The record has changed", "Read the record again, and repeat the change with its new ETag."
    ),
    "payload-too-large": ProblemType(
        413, "The body is too large", "Send at most 1 MiB (1,048,576 bytes), or 128 KiB for a workflow."
    ),
    "unsupported-media-type": ProblemType(
        415, "Unsupported media type", "Send JSON with `Content-Type: application/json`."
    ),
    "validation-failed": ProblemType(
        422, "Request is not valid", "Correct the values listed in `errors`. Each entry says what is expected."
    ),
    "workflow-invalid": ProblemType(
        422,
        "Workflow definition is invalid",
        "Correct the lines listed in `errors`. `tocsin workflows validate` reports them as well.",
    ),
    "idempotency-key-reused": ProblemType(
        422, "The key was used with another request", "Use a new Idempotency-Key for each new request."
    ),
    "rate-limited": ProblemType(
        429,
        "Too many requests",
        "Wait the seconds in `Retry-After`, or raise RATE_LIMIT_PER_IP or RATE_LIMIT_PER_USER.",
    ),
    "internal-error": ProblemType(500, "Internal error", "This is a bug. Search the log for the request ID."),
    "delivery-failed": ProblemType(
        502,
        "The message could not be delivered",
        "The detail contains the response of the remote side. Retrying may help.",
    ),
    "not-ready": ProblemType(503, "The service is unavailable", "The detail names the reason. Try again later."),
    "upstream-timeout": ProblemType(
        504,
        "The remote side did not respond in time",
        "The operation may have taken effect. Check before you repeat it.",
    ),
}


@dataclass(slots=True)
class HttpProblemError(Exception):  # raised to become a response, not to report a bug
    """A problem document as the response of a request."""

    code: str
    detail: str
    errors: Sequence[Mapping[str, object]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)  # further members of the document

    def response(self, request_id: str) -> Response:
        """Return the response; `request_id` identifies the occurrence."""
        status, title, _ = PROBLEMS[self.code]
        document: dict[str, object] = {
            "type": f"/problems/{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "instance": f"urn:request:{request_id}",
            "code": self.code,
            "request_id": request_id,
            **self.facts,
        }
        if self.errors:
            document["errors"] = list(self.errors)
        return Response(json.dumps(document), status, dict(self.headers), "application/problem+json")
