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
        400, "The request cannot be read", "Send a JSON document in UTF-8, and headers that the documentation names."
    ),
    "invalid-signature": ProblemType(
        401,
        "The call is not proved to come from the product",
        "Check the secret of the webhook in both places; the log says what was wrong.",
    ),
    "unauthenticated": ProblemType(
        401,
        "The credentials are missing or wrong",
        "Send a token with `Authorization: Bearer`, or the name and password of the dashboard, or sign in.",
    ),
    "invalid-credentials": ProblemType(
        401, "The name or the password is wrong", "Check DASHBOARD_USER and DASHBOARD_PASS in the settings."
    ),
    "forbidden": ProblemType(
        403, "This is not allowed", "Use a token that has the scope which the operation needs; the detail names it."
    ),
    "cross-site-request": ProblemType(
        403,
        "The request comes from another site's page",
        "Call from the dashboard's own page, or with a token, which no browser sends by itself.",
    ),
    "command-denied": ProblemType(
        403, "The command is on the deny list", "Use another command, or change ssh_deny.txt in the data directory."
    ),
    "not-found": ProblemType(404, "There is nothing here", "Check the name or ID; the list has those there are."),
    "method-not-allowed": ProblemType(
        405, "The method is not allowed here", "The header `Allow` names the methods that are."
    ),
    "not-acceptable": ProblemType(
        406, "The answer has no such media type", "Ask in `Accept` for a media type that the operation lists."
    ),
    "conflict": ProblemType(
        409, "This conflicts with what is there", "Read the record again; the detail says what is in the way."
    ),
    "name-taken": ProblemType(409, "The name is taken", "Choose another name, or change the record that has it."),
    "invalid-transition": ProblemType(
        409, "This is not possible in the present state", "Read the record again and act on the state it is in."
    ),
    "run-already-active": ProblemType(
        409, "It runs already", "Wait for the end of the active run, or cancel it; the detail names it."
    ),
    "dependency-missing": ProblemType(
        409, "A program it needs is not installed", "Install what `missing` in the detail names on the host."
    ),
    "disabled": ProblemType(409, "It is switched off", "Enable it first."),
    "precondition-failed": ProblemType(
        412, "The record has changed meanwhile", "Read it again, and repeat the change with its new ETag."
    ),
    "payload-too-large": ProblemType(
        413, "The body is too large", "Send at most 1 MiB (1,048,576 bytes), of a workflow 128 KiB."
    ),
    "unsupported-media-type": ProblemType(
        415, "The media type is not supported", "Send JSON with `Content-Type: application/json`."
    ),
    "validation-failed": ProblemType(
        422, "Request is not valid", "Correct what `errors` points at; each entry says what is expected."
    ),
    "workflow-invalid": ProblemType(
        422,
        "Workflow definition is invalid",
        "Correct the lines that `errors` names; so does `tocsin workflows validate`.",
    ),
    "idempotency-key-reused": ProblemType(
        422, "The key belongs to another request", "Use a new Idempotency-Key for every new request."
    ),
    "rate-limited": ProblemType(
        429,
        "Too many requests",
        "Wait as `Retry-After` says, or raise RATE_LIMIT_PER_IP or RATE_LIMIT_PER_USER.",
    ),
    "internal-error": ProblemType(
        500, "Something is broken here", "This is a bug: the log has more under the ID of the request."
    ),
    "delivery-failed": ProblemType(
        502, "It could not be delivered", "The detail says what the other side answered; trying again may help."
    ),
    "not-ready": ProblemType(
        503, "The service is not ready", "The detail says what is missing or being done; try again then."
    ),
    "upstream-timeout": ProblemType(
        504, "The other side did not answer in time", "It may have taken effect: check before repeating."
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
