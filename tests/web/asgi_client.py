"""A tiny ASGI client: one call is one request; every answer is held against the OpenAPI document."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

from tocsin.channels.registry import discover
from tocsin.web.gateway.openapi import describe_gateway

DOCUMENT = describe_gateway([adapter.spec.kind for adapter in discover().classes])
JSON = ("Content-Type", "application/json")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """Return a header that stands there exactly once, else nothing."""
        values = [value for key, value in self.headers if key == name]
        return values[0] if len(values) == 1 else ""


class Client:
    """Asks an ASGI application as `peer` would."""

    def __init__(self, app: ASGIApp, peer: str = "127.0.0.1", *, documented: bool = True) -> None:
        self.app = app
        self.documented = documented
        self.peer = peer

    async def get(self, path: str, *headers: tuple[str, str], peer: str = "") -> Answer:
        return await self.request("GET", path, *headers, peer=peer)

    async def send(self, body: object, *headers: tuple[str, str], peer: str = "") -> Answer:
        """POST /send with `body` as JSON, or as it is when it is bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.request("POST", "/send", JSON, *headers, body=[raw], peer=peer)

    async def request(
        self,
        method: str,
        path: str,
        *headers: tuple[str, str],
        body: Iterable[bytes] = (b"",),
        peer: str = "",
        scheme: str = "http",
        cut_off: bool = False,
    ) -> Answer:
        """Make one request whose body arrives in the given pieces; `cut_off` loses the last one."""
        bare, _, query = path.partition("?")
        pieces = list(body)
        events: list[Message] = [
            {"type": "http.request", "body": piece, "more_body": cut_off or number < len(pieces)}
            for number, piece in enumerate(pieces, start=1)
        ]
        sent: list[Message] = []

        async def receive() -> Message:
            return events.pop(0) if events else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": scheme,
            "path": bare,
            "raw_path": bare.encode(),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
            "client": (peer or self.peer, 50_000),
            "server": ("127.0.0.1", 8100),
            "state": {},
        }
        await self.app(scope, receive, send)
        head, *rest = sent
        answer = Answer(
            head["status"],
            [(name.decode(), value.decode("latin-1")) for name, value in head["headers"]],
            b"".join(part["body"] for part in rest),
        )
        if self.documented:
            check_against_document(method, bare, answer)
        return answer


def template_of(path: str) -> str:
    """Return the path as the document has it: with a parameter in the place of an id."""
    return re.sub(r"^/webhook/[^/]+$", "/webhook/{channel}", re.sub(r"^/deliveries/[^/]+", "/deliveries/{id}", path))


def check_against_document(method: str, path: str, answer: Answer) -> None:
    """Fail unless the OpenAPI document has this answer: its status, its media type, its fields."""
    operation = DOCUMENT["paths"].get(template_of(path), {}).get("get" if method == "HEAD" else method.lower())
    if operation is None:
        return
    known = operation["responses"]
    assert str(answer.status) in known, f"{method} {path} answers {answer.status}, which /openapi.json lacks"
    if not answer.body and template_of(path) == "/webhook/{channel}":
        return
    media_type = answer.header("content-type").partition(";")[0]
    content = known[str(answer.status)]["content"]
    assert media_type in content, f"{method} {path} {answer.status} answers {media_type}"
    schema = content[media_type]["schema"]
    for header in known[str(answer.status)].get("headers", {}).keys() & {"Location", "Preference-Applied"}:
        assert answer.header(header.lower())
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        expected = DOCUMENT["components"]["schemas"][name]
        fields = answer.json().keys()
        assert fields >= set(expected["required"])
        assert fields <= expected["properties"].keys()
