"""The transport keeps its contract against a server that does everything wrong. Source: docs/facts/calls.md."""

import asyncio
import gc
import gzip
import socket
import ssl
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions
from tests.ports import free_port
from tests.waiting import LIMITS_S, PATIENCE_S

from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.departure import watch
from tocsin.core.http.direct import DirectTransport, RequestCycle
from tocsin.core.http.proxy import proxy_for
from tocsin.core.http.transport import (
    MAX_BODY_BYTES,
    HttpResponse,
    Transport,
    describe_os_error,
    displayed_host,
    find_origin,
)

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Make = Callable[..., Transport]

PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    proxy_for.cache_clear()


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    made = DirectTransport(connect_timeout_s=PATIENCE_S)  # a busy machine may take seconds over it
    yield made
    await made.aclose()


class Server:
    """A TCP server that does what it is told; keeps what it read and counts connections."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.port = 0
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def url(self, path: str = "/x", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(talk: Talk, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(talk)
    listening = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, str], bytes]:
    """Read one request; give its first line, headers by lower-case name, and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    pairs = [line.decode().split(": ", 1) for line in lines]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), "a header stands there twice"
    return first, headers, await reader.readexactly(int(headers.get("content-length", 0)))


def answers(*pieces: bytes) -> Talk:
    """Answer every request of a connection with the same bytes, then close."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return talk


def reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def forever() -> None:
    await asyncio.Event().wait()


async def call(transport: Transport, url: str, **options: float) -> HttpResponse:
    options = {"timeout_s": PATIENCE_S, "read_timeout_s": PATIENCE_S} | options
    return await transport.request("POST", url, headers={"X-Token": "t"}, body=b"{}", **options)


async def failure(transport: Transport, url: str, **options: float) -> RemoteError:
    with pytest.raises(RemoteError) as raised:
        await call(transport, url, **options)
    return raised.value


def check_not_sent(error: RemoteError) -> None:
    assert error.kind is FailureKind.TRANSIENT
    assert error.provider_code == "connect"
    assert error.provider_code == "connect"


def check_unknown(error: RemoteError) -> None:
    assert error.kind is FailureKind.AMBIGUOUS
    assert error.provider_code == "no-answer"
    assert str(error).startswith("outcome unknown: ")


# What goes out


async def test_a_request_arrives_byte_for_byte_with_no_header_that_nobody_asked_for(transport: Transport):
    seen: list[tuple[bytes, dict[str, str], bytes]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    body = b'{"text": "\xc3\xbc\\u0000"}\r\n\0'
    headers = {"Authorization": "Bearer t:/+=", "Content-Type": "application/json; charset=utf-8"}
    async with serving(talk) as server:
        path = "/bot123:AbC-_x/send%20Message?a=b%2Fc&d=é".encode().decode("ascii", "ignore")
        await transport.request("POST", server.url(path), headers=headers, body=body)
        first, got, arrived = seen[0]
    assert first == f"POST {path} HTTP/1.1".encode()
    assert arrived == body
    got.pop("connection", None)
    assert got == {
        "host": f"127.0.0.1:{server.port}",
        "accept": "*/*",
        "authorization": "Bearer t:/+=",
        "content-type": "application/json; charset=utf-8",
        "content-length": str(len(body)),
    }


@pytest.mark.parametrize(("method", "length"), [("GET", None), ("POST", "0"), ("PUT", "0")])
async def test_a_request_without_a_body_says_so(transport: Transport, method: str, length: str | None):
    seen: list[dict[str, str]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[1])
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    async with serving(talk) as server:
        await transport.request(method, server.url(), headers={})
    assert seen[0].get("content-length") == length
    assert "content-type" not in seen[0]


async def test_a_body_of_nearly_one_mebibyte_arrives_whole(transport: Transport):
    body = bytes(range(256)) * 4_000
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[2])
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    async with serving(talk) as server:
        await transport.request("POST", server.url(), headers={}, body=body)
    assert seen == [body]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb"])
async def test_a_header_cannot_smuggle_another_one(transport: Transport, value: str):
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())

    async with serving(talk) as server:
        with pytest.raises(ValueError):  # noqa: PT011  # each says it in its own words
            await transport.request("POST", server.url(), headers={"X-Note": value})
        await transport.aclose()
    assert b"".join(heard) == b""


# What comes back


async def test_a_reply_has_status_lower_case_headers_and_body(transport: Transport):
    raw = b"HTTP/1.1 429 Slow Down\r\nRetry-AFTER: 7\r\nX-Two: a: b\r\nContent-Length: 4\r\n\r\nabcd"
    async with serving(answers(raw)) as server:
        reply = await call(transport, server.url())
    assert (reply.status, reply.body, reply.complete) == (429, b"abcd", True)
    assert reply.headers["retry-after"] == "7"
    assert reply.headers["x-two"] == "a: b"
    assert reply.retry_after_s() == 7


@pytest.mark.parametrize("status", [204, 304])
async def test_a_status_without_a_body_is_complete(transport: Transport, status: int):
    async with serving(answers(f"HTTP/1.1 {status} X\r\n\r\n".encode())) as server:
        reply = await call(transport, server.url())
    assert (reply.status, reply.body, reply.complete) == (status, b"", True)


@pytest.mark.parametrize("interim", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"])
@pytest.mark.parametrize("together", [True, False])
async def test_an_interim_answer_is_not_the_answer(transport: Transport, interim: bytes, together: bool):
    final = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
    pieces = (interim + final,) if together else (interim, final)
    async with serving(answers(*pieces)) as server:
        reply = await call(transport, server.url())
    assert (reply.status, reply.body, reply.complete) == (201, b"{}", True)
    assert "link" not in reply.headers


async def test_a_body_without_a_length_ends_with_the_connection(transport: Transport):
    async with serving(answers(b"HTTP/1.0 200 OK\r\n\r\n", b'{"ok":', b" true}")) as server:
        reply = await call(transport, server.url())
    assert reply.complete
    assert reply.json_object() == {"ok": True}


async def test_a_chunked_body_is_put_together(transport: Transport):
    raw = OK + b'Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n', b'5\r\n": 1}\r\n0\r\nX-Trailer: z\r\n\r\n'
    async with serving(answers(*raw)) as server:
        reply = await call(transport, server.url())
    assert reply.json_object() == {"a": 1}


async def test_what_follows_the_answer_does_not_change_it(transport: Transport):
    second = b"HTTP/1.1 500 No\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\nevil"
    async with serving(answers(OK + b"Content-Length: 2\r\n\r\n{}" + second)) as server:
        reply = await call(transport, server.url())
    assert (reply.status, reply.body) == (200, b"{}")
    assert "x-evil" not in reply.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(transport: Transport, status: int):
    async with serving(answers(OK + b"Content-Length: 2\r\n\r\n{}")) as elsewhere:
        raw = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url()}\r\nContent-Length: 0\r\n\r\n"
        async with serving(answers(raw.encode())) as server:
            reply = await call(transport, server.url())
    assert reply.status == status
    assert elsewhere.connections == 0


async def test_cookies_are_neither_kept_nor_sent(transport: Transport):
    seen: list[dict[str, str]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[1])
        writer.write(OK + b"Connection: close\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 2\r\n\r\n{}")

    async with serving(talk) as server:
        await call(transport, server.url(host="localhost"))
        await call(transport, server.url(host="localhost"))
    assert ["cookie" in headers for headers in seen] == [False, False]


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'"x"', b"\xff", b"[" * 100_000])
async def test_html_or_broken_json_is_a_reply_without_an_object(transport: Transport, body: bytes):
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with serving(answers(raw)) as server:
        reply = await call(transport, server.url())
    assert reply.complete
    assert reply.json_object() is None


async def test_a_compressed_body_that_nobody_asked_for_is_left_alone(transport: Transport):
    bomb = gzip.compress(b" " * 20_000_000)
    raw = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(bomb), bomb)
    async with serving(answers(raw)) as server:
        reply = await call(transport, server.url())
    assert reply.body == bomb
    assert reply.json_object() is None


async def test_a_body_of_exactly_one_mebibyte_is_read(transport: Transport):
    raw = OK + b"Content-Length: %d\r\n\r\n" % MAX_BODY_BYTES, b" " * MAX_BODY_BYTES
    async with serving(answers(*raw)) as server:
        reply = await call(transport, server.url())
    assert reply.complete
    assert len(reply.body) == MAX_BODY_BYTES


@pytest.mark.parametrize(
    "head",
    [b"\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: 99999999999\r\n\r\n"],
    ids=["until-close", "chunked", "declared"],
)
async def test_an_endless_body_is_cut_at_one_mebibyte(transport: Transport, head: bytes):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + head)
        block = b"10000\r\n%b\r\n" % (b" " * 65536) if b"chunked" in head else b" " * 65536
        while not writer.is_closing():
            writer.write(block)
            await writer.drain()

    async with serving(talk) as server:
        reply = await call(transport, server.url())
    assert reply.status == 200
    assert not reply.complete
    assert len(reply.body) == MAX_BODY_BYTES


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize(("size", "complete"), [(8, True), (9, False)])
async def test_a_body_that_ends_with_its_first_bytes_may_be_too_large_too(
    transport: Transport, *, chunked: bool, size: int, complete: bool
):
    body = b"123456789"[:size]
    framed = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" if chunked else b"Content-Length: %d\r\n\r\n%b"
    async with serving(answers(OK + framed % (size, body))) as server:
        reply = await transport.request("GET", server.url(), headers={}, max_body_bytes=8)
    assert (reply.body, reply.complete) == (b"12345678", complete)


async def test_an_endless_head_ends_the_call(transport: Transport):
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            sent += 60_000
            writer.write(b"X-Filler: " + b"x" * 60_000 + b"\r\n")
            await writer.drain()

    async with serving(talk) as server:
        check_unknown(await failure(transport, server.url()))
    assert sent < 32 * MAX_BODY_BYTES


@pytest.mark.parametrize(
    "rest",
    [
        (b"Content-Length: 100\r\n\r\n", b'{"ok":'),
        (b"Transfer-Encoding: chunked\r\n\r\n", b'6\r\n{"ok":\r\n'),
        (b"Transfer-Encoding: Chunked\r\n\r\n", b'6\r\n{"ok":'),
    ],
    ids=["length", "chunked", "mid-chunk"],
)
async def test_a_body_that_breaks_off_is_a_reply_that_says_so(transport: Transport, rest: tuple[bytes, bytes]):
    async with serving(answers(OK + rest[0], rest[1])) as server:
        reply = await call(transport, server.url())
    assert reply.status == 200
    assert not reply.complete
    assert reply.json_object() is None


async def test_broken_chunking_is_never_taken_for_a_whole_answer(transport: Transport):
    raw = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nZZ\r\n"
    async with serving(answers(raw)) as server:
        try:
            reply = await call(transport, server.url())
        except RemoteError as error:
            check_unknown(error)
        else:
            assert (reply.status, reply.complete) == (200, False)


async def test_a_reset_inside_the_body_is_a_reply_that_says_so(transport: Transport):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nabc")
        await writer.drain()
        asyncio.get_running_loop().call_later(0.05, reset, writer)  # the head is read by then
        await forever()

    async with serving(talk) as server:
        reply = await call(transport, server.url())
    assert (reply.status, reply.complete) == (503, False)


# What fails, and what that means for a second try


async def test_a_refused_connection_was_not_sent(transport: Transport):
    port = free_port()
    error = await failure(transport, f"http://127.0.0.1:{port}/secret-path")
    check_not_sent(error)
    assert mentions(str(error), f"127.0.0.1:{port}", "Connection refused")
    assert "secret-path" not in error.sentence()


async def test_a_name_with_several_addresses_that_all_refuse_was_not_sent(transport: Transport):
    port = free_port()
    error = await failure(transport, f"http://localhost:{port}/")
    check_not_sent(error)
    assert mentions(str(error), f"localhost:{port}", "Connection refused")


async def test_a_name_that_does_not_exist_was_not_sent(transport: Transport):
    error = await failure(transport, "http://no-such-host.invalid/")
    check_not_sent(error)
    assert "no-such-host.invalid" in str(error)


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "x" * 300])
async def test_a_name_that_cannot_exist_was_not_sent(transport: Transport, host: str):
    check_not_sent(await failure(transport, f"http://{host}/"))


async def test_an_address_that_is_refused_is_not_connected_to():
    checked: list[str] = []

    def refuse(address: str) -> None:
        checked.append(address)
        raise RemoteError("file")

    async with serving(answers(OK)) as server:
        transport = DirectTransport(check_address=refuse)
        error = await failure(transport, server.url())
        await transport.aclose()
    assert (str(error), checked, server.connections) == ("file", ["127.0.0.1"], 0)


async def test_a_connection_that_does_not_come_about_in_time_was_not_sent():
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await forever()  # never answers the TLS hello

    transport = DirectTransport(connect_timeout_s=0.3)
    async with serving(mute) as server:
        error = await failure(transport, server.url(scheme="https"))
    await transport.aclose()
    check_not_sent(error)
    assert "0.3 s" in str(error)


@pytest.mark.parametrize(("scheme", "possible"), [("https", False), ("http", True)])
async def test_a_call_that_is_cut_off_tells_whether_the_request_can_have_left(scheme: str, *, possible: bool):
    connected = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()  # and never answers, be it the TLS hello or the request
        await forever()

    transport, departure = DirectTransport(), watch()
    async with serving(mute) as server:
        call = asyncio.create_task(transport.request("POST", server.url(scheme=scheme), headers={}, body=b"x"))
        await connected.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
    assert departure.possible == possible
    await transport.aclose()


@pytest.mark.parametrize("after_reading", [True, False])
async def test_a_reset_before_the_answer_leaves_the_outcome_unknown(transport: Transport, after_reading: bool):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if after_reading:
            await read_request(reader)
        reset(writer)

    async with serving(talk) as server:
        error = await failure(transport, server.url())
    if after_reading or error.kind is FailureKind.AMBIGUOUS:
        check_unknown(error)
        assert f"127.0.0.1:{server.port} " in str(error)
    else:
        check_not_sent(error)


async def test_an_orderly_end_without_an_answer_leaves_the_outcome_unknown(transport: Transport):
    async with serving(answers()) as server:
        check_unknown(await failure(transport, server.url()))


@pytest.mark.parametrize(
    "raw", [b"hello there\r\n\r\n", b"\x16\x03\x01\x00", b"HTTP/1.1 abc\r\n\r\n", b"SSH-2.0-x\r\n\r\n\r\n"]
)
async def test_an_answer_that_is_not_http_leaves_the_outcome_unknown(transport: Transport, raw: bytes):
    async with serving(answers(raw)) as server:
        check_unknown(await failure(transport, server.url()))


@pytest.mark.parametrize("limit", ["timeout_s", "read_timeout_s"])
async def test_a_stall_leaves_the_outcome_unknown(transport: Transport, limit: str):
    asked = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await forever()

    async with serving(talk) as server:
        for seconds in (0.1, *LIMITS_S):
            error = await failure(transport, server.url(), **{limit: seconds})
            if asked.is_set():
                break
    check_unknown(error)
    assert error.provider_code == "no-answer"


async def test_a_request_is_never_sent_twice(transport: Transport):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reset(writer)

    async with serving(talk) as server:
        await failure(transport, server.url())
    assert server.connections == 1


async def test_a_kept_connection_that_the_server_closes_sends_nothing_twice():
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[2])
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")
        seen.append((await read_request(reader))[2])
        reset(writer)

    transport = DirectTransport()
    async with serving(talk) as server:
        await call(transport, server.url())
        check_unknown(await failure(transport, server.url()))
    await transport.aclose()
    assert (seen, server.connections) == ([b"{}", b"{}"], 1)


async def test_a_call_that_was_answered_is_gone_without_the_garbage_collector(transport: Transport):
    async with serving(answers(OK + b"Content-Length: 2\r\n\r\n{}")) as server:
        gc.collect()
        gc.disable()
        try:
            await call(transport, server.url())
            assert not [each for each in gc.get_objects() if type(each) is RequestCycle]
        finally:
            gc.enable()


async def test_a_drip_of_single_bytes_is_bounded_by_the_whole_call(transport: Transport):
    asked = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        for byte in chain(OK + b"X-Endless: ", repeat(b"x"[0])):
            writer.write(bytes([byte]))
            await writer.drain()  # raises when the other side has gone
            await asyncio.sleep(0.01)

    async with serving(talk) as server:
        for timeout_s in LIMITS_S:
            error = await failure(transport, server.url(), timeout_s=timeout_s, read_timeout_s=PATIENCE_S)
            if asked.is_set():
                break
    check_unknown(error)


async def test_a_body_that_drips_too_slowly_is_a_reply_that_breaks_off(transport: Transport):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"Content-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()  # raises when the other side has gone
            await asyncio.sleep(0.01)

    replies = []
    async with serving(talk) as server:
        for timeout_s in LIMITS_S:
            if replies:
                break
            with suppress(RemoteError):  # too late for the head of the reply, where the machine was busy
                replies.append(await call(transport, server.url(), timeout_s=timeout_s))
    assert [(reply.status, reply.complete) for reply in replies] == [(200, False)]


async def test_a_cancelled_call_leaves_no_connection_behind(transport: Transport):
    gone = asyncio.Event()
    asked = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await reader.read()
        gone.set()

    async with serving(talk) as server:
        task = asyncio.create_task(call(transport, server.url()))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE_S):
            await gone.wait()


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.parametrize("names", [["localhost"], ["other.example"]], ids=["unknown-authority", "wrong-name"])
async def test_a_bad_certificate_is_refused_before_anything_is_sent(
    transport: Transport, authority: trustme.CA, names: list[str]
):
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))

    async with serving(talk, tls=server_side(authority.issue_cert(*names))) as server:
        error = await failure(transport, server.url(host="localhost", scheme="https"))
    check_not_sent(error)
    assert "certificate" in str(error)
    assert b"".join(heard) == b""


ONE_CALL = """
import asyncio, sys, uvloop
from tocsin.core.http.direct import DirectTransport, RequestCycle
async def main():
    transport = DirectTransport()
    for url in sys.argv[1:]:
        reply = await transport.request("POST", url, headers={}, body=b"{}")
        print(reply.status, reply.body.decode())
    await transport.aclose()
asyncio.run(main())
uvloop.run(main())
"""


async def call_from_a_child(authority: trustme.CA, tmp_path: Path, *urls: str, **environment: str) -> bytes:
    """Call from a process of its own, with both event loops: what is trusted is read once, when TLS is set up."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ONE_CALL, *urls,
        env={"SSL_CERT_FILE": str(tmp_path / "ca.pem"), **environment}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await child.communicate()
    return out


async def test_a_certificate_of_a_trusted_authority_is_accepted(authority: trustme.CA, tmp_path: Path):
    tls = server_side(authority.issue_cert("localhost"))
    async with serving(answers(OK + b"Content-Length: 2\r\n\r\n{}"), tls=tls) as server:
        out = await call_from_a_child(authority, tmp_path, server.url(host="localhost", scheme="https"))
    assert out == b"200 {}\n" * 2


async def test_a_server_without_tls_behind_an_https_address_was_not_sent(transport: Transport):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(talk) as server:
        error = await failure(transport, server.url(scheme="https"))
    check_not_sent(error)


# Where it goes


async def test_an_ipv6_address_is_reached_and_named_in_brackets(transport: Transport):
    seen: list[dict[str, str]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[1])
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    async with serving(talk, host="::1") as server:
        reply = await call(transport, server.url(host="[::1]"))
    assert reply.status == 200
    assert seen[0]["host"] == f"[::1]:{server.port}"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    def change(name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        proxy_for.cache_clear()

    return change


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}"])
async def test_a_proxy_of_the_environment_carries_the_call(
    transport: Transport, environment: Callable[[str, str], None], form: str
):
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[0])
        writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    async with serving(talk) as proxy:
        environment("http_proxy", form.format(proxy.port))
        reply = await call(transport, "http://provider.invalid/a?b=c")
        assert reply.status == 200
        assert seen == [b"POST http://provider.invalid/a?b=c HTTP/1.1"]
        environment("no_proxy", "other.invalid")
        check_not_sent(await failure(transport, "http://other.invalid/a"))
        assert len(seen) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_carries_encrypted_calls_through_one_tunnel(authority: trustme.CA, tmp_path: Path, scheme: str):
    asked: list[tuple[bytes, str]] = []
    tls = server_side(authority.issue_cert("localhost"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            writer.write(OK + b"Content-Length: 2\r\n\r\n{}")

    async with serving(answer, tls=tls) as server:

        async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line, headers, _ = await read_request(reader)
            asked.append((line, headers["proxy-authorization"]))
            there, back = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 p\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                both.create_task(pass_on(reader, back))
                both.create_task(pass_on(there, writer))

        async with serving(tunnel, tls=tls if scheme == "https" else None) as proxy:
            url = server.url(host="localhost", scheme="https")
            via = f"{scheme}://us%65r:p%40ss@localhost:{proxy.port}"
            out = await call_from_a_child(authority, tmp_path, url, url, https_proxy=via)
    assert out == b"200 {}\n" * 4
    line = f"CONNECT localhost:{server.port} HTTP/1.1".encode()
    assert asked == [(line, "Basic dXNlcjpwQHNz")] * 2  # one for each event loop, whose second call takes it again


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
    writer.close()


async def test_a_proxy_that_refuses_the_tunnel_was_not_sent(
    transport: Transport, environment: Callable[[str, str], None]
):
    async with serving(answers(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")) as proxy:
        environment("https_proxy", f"http://127.0.0.1:{proxy.port}")
        error = await failure(transport, "https://provider.invalid/")
    check_not_sent(error)
    assert "403" in str(error)


@pytest.mark.parametrize(
    "said",
    [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 200 " + b"x" * 100_000],
    ids=["nothing", "no-http", "half", "speaks-first", "endless"],
)
async def test_a_proxy_that_makes_no_tunnel_was_not_sent(
    transport: Transport, environment: Callable[[str, str], None], said: bytes
):
    async with serving(answers(said)) as proxy:
        environment("https_proxy", f"http://127.0.0.1:{proxy.port}")
        error = await failure(transport, "https://provider.invalid/")
    check_not_sent(error)
    assert "the proxy " in str(error)


async def test_a_proxy_that_is_down_was_not_sent(transport: Transport, environment: Callable[[str, str], None]):
    environment("https_proxy", f"http://127.0.0.1:{(port := free_port())}")
    error = await failure(transport, "https://provider.invalid/")
    check_not_sent(error)
    assert f"the proxy 127.0.0.1:{port}: Connection refused" in str(error)


async def test_a_proxy_of_an_unknown_kind_is_a_sentence(transport: Transport, environment: Callable[[str, str], None]):
    environment("https_proxy", "socks5://127.0.0.1:1080")
    error = await failure(transport, "https://provider.invalid/")
    check_not_sent(error)
    assert "socks5" in str(error)


# Small things


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 30 "}, 30.0),
        ({"retry-after": "1.5"}, 1.5),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "400000000000"}, 3600.0),
        ({"retry-after": "1e300"}, 3600.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -0000"}, None),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT", "date": "Fri, 31 Dec 1999 23:59:29 GMT"}, 30.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT", "date": "Fri, 31 Dec 1999 23:59:29 GMT"}, 3600.0),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:29 GMT", "date": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 -0000", "date": "Fri, 31 Dec 1999 23:59:29 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT", "date": "Fri, 31 Dec 1999 23:59:29 GMT"}, None),
    ],
)
def test_retry_after_is_understood_in_both_forms(headers: dict[str, str], seconds: float | None):
    assert HttpResponse(429, headers, b"").retry_after_s() == seconds


@given(st.text(), st.text())
def test_no_retry_after_breaks_anything(value: str, date: str):
    seconds = HttpResponse(429, {"retry-after": value, "date": date}, b"").retry_after_s()
    assert seconds is None or 0 <= seconds < float("inf")


def test_a_reply_that_broke_off_has_no_object():
    assert HttpResponse(200, {}, b"{}", complete=False).json_object() is None


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("https://a.example/bot1:x/send", "a.example", "https://a.example"),
        ("http://a.example:81", "a.example:81", "http://a.example:81"),
        ("http://[::1]:8/x", "[::1]:8", "http://[::1]:8"),
    ],
)
def test_an_error_names_host_and_port_and_never_the_path(url: str, host: str, origin: str):
    assert displayed_host(url) == host
    assert find_origin(url) == origin


def test_the_reason_of_a_failure_is_what_the_system_says():
    assert (
        describe_os_error(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9)")) == "Connection refused"
    )
    assert describe_os_error(socket.gaierror(-2, "Name or service not known")) == "Name or service not known"
    assert describe_os_error(OSError("odd")) == "odd"
    assert describe_os_error(OSError()) == "OSError"
