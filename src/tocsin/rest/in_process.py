"""Requests to an application within its process, without a socket."""

from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Scope


class InProcessResponse(NamedTuple):
    """A whole response."""

    status: int
    media_type: bytes
    body: bytes


async def request_in_process(app: ASGIApp, scope: Scope, body: bytes) -> InProcessResponse:
    """Return the response of `app` to a request with `body`; `scope` has what differs from an empty local request."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    usual: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "raw_path": scope["path"].encode(),
        "root_path": "",
        "query_string": b"",
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
    await app({**usual, **scope}, receive, send)
    kind = next((value for name, value in sent[0]["headers"] if name.lower() == b"content-type"), b"")
    return InProcessResponse(sent[0]["status"], kind, b"".join(each.get("body", b"") for each in sent))
