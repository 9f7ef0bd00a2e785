"""The examples as people type them: the reference shows them, and a test runs each as it stands there."""

import json
import re
from shlex import quote

from tests.web.dashboard.contract.examples import EXAMPLES

# What all examples begin with.
PREAMBLE = """\
TOCSIN=${TOCSIN:-http://127.0.0.1:8200}
JSON='Content-Type: application/json'
api() { curl -sS -H "Authorization: Bearer $TOKEN" "$@"; }"""


def variable_of(kind: str) -> str:
    """Return what an example calls a thing of this kind."""
    return kind.upper().replace(" ", "_")


def curl_of(method: str, path: str) -> str:
    """Return the example of an operation, in one line."""
    example = EXAMPLES[f"{method} {path}"]
    name = f"${variable_of(example.made)}"
    words = ["api"]
    if example.streams:
        words.append("-N")
    if method != "GET" and not (method == "POST" and example.body is not None):
        words += ["-X", method]
    query = f"?{example.query.replace('{made}', name)}" if example.query else ""
    words.append(f'"$TOCSIN{re.sub(r"{[a-z_]+}", lambda _: name, path)}{query}"')
    if isinstance(example.body, bytes):
        words += ["-H", quote(f"Content-Type: {example.media}"), "--data-binary", quote(example.body.decode())]
    elif example.body is not None:
        body = quote(json.dumps(example.body)).replace("{made}", f"'\"{name}\"'")
        words += ["-H", '"$JSON"', "-d", body]
    return " ".join(words)
