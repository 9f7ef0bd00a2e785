"""Answers as they go onto the wire, on the real server."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send
from tests.web.test_framing import served

from tocsin.web.http.responses import JsonResponse

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LENGTH = (b"content-length", b"4")


class Spoken:
    """An application that answers with these messages."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], *bodies: bytes) -> None:
        self._start = {"type": "http.response.start", "status": status, "headers": headers}
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(self._start)
        for number, body in enumerate(self._bodies, start=1):
            await send({"type": "http.response.body", "body": body, "more_body": number < len(self._bodies)})


async def pieces(app: Spoken | JsonResponse, request: bytes = GET) -> list[bytes]:
    """Return what the server writes, as the socket hands it over, until it has answered."""

    class Client(asyncio.Protocol):
        def __init__(self) -> None:
            self.got: list[bytes] = []

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transport.write(request)  # type: ignore[attr-defined]

        def data_received(self, data: bytes) -> None:
            self.got.append(data)
            began.set()

        def connection_lost(self, error: Exception | None) -> None:
            began.set()
            ended.set()

    began, ended = asyncio.Event(), asyncio.Event()
    async with served(app) as port:
        _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
        await began.wait()
    await ended.wait()
    return client.got


async def test_head_and_body_are_written_at_once():
    [piece] = await pieces(JsonResponse({"ok": True}, 201, {"X-Request-ID": "7"}))
    head, _, body = piece.partition(b"\r\n\r\n")
    status, date, *headers = head.split(b"\r\n")
    assert (status, date[:6], body) == (b"HTTP/1.1 201 Created", b"date: ", b'{"ok":true}')
    assert headers == [
        b"cache-control: no-store",
        b"x-request-id: 7",
        b"content-length: 11",
        b"content-type: application/json",
    ]


@pytest.mark.parametrize(
    ("app", "end"),
    [
        (Spoken(200, [LENGTH], b"ab", b"cd"), b"\r\n\r\nabcd"),
        (Spoken(200, [], b"abcd"), b"transfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"),
        (Spoken(200, [LENGTH, (b"connection", b"close")], b"abcd"), b"connection: close\r\n\r\nabcd"),
        (Spoken(204, [], b""), b"GMT\r\n\r\n"),
    ],
)
async def test_an_unusual_answer_arrives_as_it_was_given(app: Spoken, end: bytes):
    assert b"".join(await pieces(app)).endswith(end)


async def test_an_answer_to_head_has_no_body():
    got = b"".join(await pieces(Spoken(200, [LENGTH], b"abcd"), GET.replace(b"GET", b"HEAD")))
    assert got.endswith(b"content-length: 4\r\n\r\n")


async def test_a_line_break_in_a_header_never_reaches_the_wire():
    got = b"".join(await pieces(Spoken(200, [LENGTH, (b"x-a", b"1\r\nx-b: 2")], b"abcd")))
    assert b"x-b" not in got


async def test_a_body_that_is_not_as_long_as_announced_ends_the_connection():
    got = b"".join(await pieces(Spoken(200, [LENGTH], b"abcdef")))
    assert not got.endswith(b"abcdef")
