"""Calls to services of a test over HTTP; an answer of any status is returned, none is raised."""

import json
import urllib.error
import urllib.request
from email.message import Message
from typing import Any, NamedTuple

from tests.waiting import PATIENCE_S


class HttpAnswer(NamedTuple):
    """What a service answered."""

    status: int
    body: bytes
    headers: Message

    def json(self) -> Any:
        return json.loads(self.body)

    def accepted(self) -> "HttpAnswer":
        """Return it unless it is an error."""
        assert self.status < 400, (self.status, self.body)
        return self


def http_call(
    url: str, document: object = None, *, body: bytes | None = None, method: str = "", **headers: str
) -> HttpAnswer:
    """Make one request: a GET, or a POST of a document as JSON or of a body. `_` in the name of a header is a `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if document is not None:
        body, named = json.dumps(document).encode(), {"Content-Type": "application/json", **named}
    request = urllib.request.Request(url, body, named, method=method or None)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return HttpAnswer(answer.status, answer.read(), answer.headers)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return HttpAnswer(refusal.code, refusal.read(), refusal.headers)


def is_answered(url: str) -> bool:
    """Whether a service answers with status 200; false while nothing listens."""
    try:
        return http_call(url).status == 200
    except OSError:
        return False
