"""The gateway on a real socket."""

import asyncio
import gc
import json
import os
import signal
import socket
import ssl
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trustme
import uvicorn
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually
from tests.web.asgi_client import DOCUMENT
from tests.web.conftest import GOOD, Gateway

from tocsin.core.errors import ConfigError
from tocsin.web.http.asgi import RequestScope
from tocsin.web.http.protocol import BoundedProtocol
from tocsin.web.http.responses import JsonResponse
from tocsin.web.http.serving import Service, check_tls, listen, serve
from tocsin_standins import StandinCluster

MIB = 1024 * 1024


class HastyProtocol(BoundedProtocol):
    """Waits for a request as long as a test wants to."""

    arrival_timeout_s = 0.5


@pytest.fixture
async def wire(gateway: Gateway) -> AsyncIterator[int]:
    """Serve the gateway the way the command does; give its port."""
    addresses: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    service = Service("gateway", "127.0.0.1", free_port(), "GATEWAY_PORT", lambda _: gateway.client.app)
    task = asyncio.create_task(serve([service], ready=lambda found: addresses.set_result(*found.values())))
    yield int((await addresses).rpartition(":")[2])
    os.kill(os.getpid(), signal.SIGTERM)
    await task


@asynccontextmanager
async def hasty_server(gateway: Gateway) -> AsyncIterator[int]:
    async with server_of(gateway.client.app, HastyProtocol) as port:
        yield port


@asynccontextmanager
async def server_of(app: ASGIApp, protocol: type[BoundedProtocol]) -> AsyncIterator[int]:
    config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        task = asyncio.create_task(server._serve([sock]))  # noqa: SLF001  # without its signal handlers
        yield sock.getsockname()[1]
        server.should_exit = True
        await task


async def exchange(port: int, *pieces: bytes) -> tuple[bytes, bytes]:
    """Write the pieces, read until the other side closes; give head and body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.transport.abort()
    return head, body


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"
RAW = json.dumps(GOOD).encode()


async def test_a_send_over_a_real_socket(wire: int):
    head, body = await exchange(wire, request("POST", "/send", JSON, f"Content-Length: {len(RAW)}", body=RAW))
    assert head.startswith(b"HTTP/1.1 200 ")
    assert json.loads(body)["ok"] is True
    assert b"\nserver:" not in head.lower()


async def test_what_a_request_made_is_gone_without_the_garbage_collector():
    class Mark:
        """Stands for everything that the scope of a request holds."""

    marks: list[weakref.ref[Mark]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["test.mark"] = mark = Mark()
        marks.append(weakref.ref(mark))
        await JsonResponse({})(scope, receive, send)

    addresses: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    of_test = Service("test", "127.0.0.1", free_port(), "PORT", lambda _: RequestScope(app, (), lambda *_: None))
    task = asyncio.create_task(serve([of_test], ready=lambda found: addresses.set_result(*found.values())))
    gc.disable()
    try:
        first = b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        # The connection knows its present request, here the second one.
        await exchange(int((await addresses).rpartition(":")[2]), first, request("GET", "/2"))
        await eventually(lambda: marks[0]() is None)
    finally:
        gc.enable()
        os.kill(os.getpid(), signal.SIGTERM)
        await task


async def test_a_head_request_is_answered_without_a_body(wire: int):
    head, body = await exchange(wire, request("HEAD", "/channels"))
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b""


@pytest.mark.parametrize("form", ["Content-Length", "chunked"])
async def test_who_sends_too_much_still_reads_the_413(wire: int, form: str):
    size = 3 * MIB
    raw = b" " * size
    if form == "chunked":
        sent = request("POST", "/send", JSON, "Transfer-Encoding: chunked"), b"%x\r\n%b\r\n0\r\n\r\n" % (size, raw)
    else:
        sent = request("POST", "/send", JSON, f"Content-Length: {size}"), raw
    head, body = await exchange(wire, *sent)
    assert head.startswith(b"HTTP/1.1 413 ")
    assert json.loads(body)["code"] == "payload-too-large"


async def test_who_asks_before_sending_too_much_is_told_at_once(wire: int):
    head, _ = await exchange(wire, request("POST", "/send", JSON, "Content-Length: 9000000", "Expect: 100-continue"))
    assert head.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS client hello
        b"hello\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /send HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_what_is_not_http_gets_a_problem_document_too(wire: int, raw: bytes):
    head, body = await exchange(wire, raw)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body).keys() >= set(DOCUMENT["components"]["schemas"]["Problem"]["required"])


async def test_an_endless_head_is_cut_off(wire: int):
    reader, writer = await asyncio.open_connection("127.0.0.1", wire)
    writer.write(b"GET /health HTTP/1.1\r\n")
    async with asyncio.timeout(PATIENCE_S):
        while not (writer.is_closing() or reader.at_eof()):
            writer.write(b"X-Filler: " + b"x" * 8000 + b"\r\n")
            await asyncio.sleep(0)
            with suppress(ConnectionError):
                await writer.drain()
    writer.transport.abort()


@pytest.mark.parametrize(
    "start",
    [b"", b"GET /hea", request("POST", "/send", JSON, "Content-Length: 100", body=b'{"cha')],
    ids=["nothing", "half-a-head", "half-a-body"],
)
async def test_a_request_that_does_not_arrive_in_time_is_cut_off(gateway: Gateway, start: bytes):
    async with hasty_server(gateway) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.transport.abort()
    assert gateway.transport.sent == []


async def test_a_slow_provider_is_waited_for_longer_than_a_slow_client(gateway: Gateway, town: StandinCluster):
    async with hasty_server(gateway) as port:
        released = asyncio.Event()

        async def slow(*_: object, **__: object) -> object:
            await released.wait()
            return gateway.transport.script[0]

        asyncio.get_running_loop().call_later(3 * HastyProtocol.arrival_timeout_s, released.set)
        gateway.app.registry.adapter("teamchat").http = SlowTransport(slow)
        head, _ = await exchange(port, request("POST", "/send", JSON, f"Content-Length: {len(RAW)}", body=RAW))
    assert head.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("timed_bytes", "deadlines"), [(1_024, 4), (MIB, 1)])
async def test_each_mib_of_a_body_may_take_as_long_as_a_request(timed_bytes: int, deadlines: int):
    started: list[float] = []
    received: asyncio.Queue[int] = asyncio.Queue()

    class CountedProtocol(BoundedProtocol):
        def _start_deadline(self, seconds: float) -> None:
            if self._deadline is None:
                started.append(seconds)
            super()._start_deadline(seconds)

    CountedProtocol.timed_bytes = timed_bytes

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        for _ in range(4):
            received.put_nowait(len((await receive())["body"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with server_of(app, CountedProtocol) as port, asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", "/send", "Content-Length: 4096"))
        for _ in range(4):
            writer.write(b"x" * 1_024)
            assert await received.get() == 1_024
        assert (await reader.readline()).startswith(b"HTTP/1.1 204 ")
        writer.transport.abort()
    assert len(started) == deadlines


class SlowTransport:
    def __init__(self, request: object) -> None:
        self.request = request

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_two_requests_in_one_packet_are_both_answered(wire: int):
    first = request("GET", "/health").replace(b"Connection: close\r\n", b"")
    head, rest = await exchange(wire, first + request("GET", "/channels"))
    assert head.startswith(b"HTTP/1.1 200 ")
    assert rest.count(b"HTTP/1.1 200 ") == 1
    assert rest.endswith(b'["teamchat"]')


async def test_a_request_that_outlasts_the_grace_period_is_answered_with_503():
    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    sent: list[Mapping[str, object]] = []

    async def send(message: Mapping[str, object]) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [], "client": ("127.0.0.1", 1), "path": "/send"}
    app = RequestScope(hang, (), lambda *_: None)
    task = asyncio.create_task(app(scope, hang, send))
    await asyncio.sleep(0)
    task.cancel()
    await task
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["code"] == "not-ready"


# Where it listens


def service_on(host: str, port: int) -> Service:
    return Service("gateway", host, port, "GATEWAY_PORT", lambda _: None)


def test_a_taken_port_is_one_sentence_with_the_setting_to_change():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = service_on("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ConfigError) as raised, listen(service):
            pass
    assert "127.0.0.1 port" in str(raised.value)
    assert "Address already in use" in str(raised.value)
    assert "GATEWAY_PORT" in raised.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a..b", "x" * 300, "é..", "ü" * 70])
def test_an_address_that_is_not_ours_is_one_sentence(host: str):
    with pytest.raises(ConfigError, match="listen") as raised, listen(service_on(host, 0)):
        pass
    assert "\n" not in raised.value.sentence()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
def test_loopback_is_listened_on_in_every_spelling(host: str):
    with listen(service_on(host, 0)) as sock:
        assert sock.getsockname()[0] in {"127.0.0.1", "::1"}


# TLS


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 with its key."""
    issued = trustme.CA().issue_cert("127.0.0.1")
    chain, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    return chain, key


@pytest.fixture
def hangups() -> Iterator[None]:
    """Let SIGHUP have its usual effect where these tests were started with it ignored, as under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangups")
async def test_sighup_takes_a_renewed_certificate_and_keeps_the_old_one_if_the_new_is_broken(
    gateway: Gateway, certificate: tuple[Path, Path], caplog: pytest.LogCaptureFixture
):
    started, reloaded = asyncio.Event(), asyncio.Event()
    service = Service("thing", "127.0.0.1", free_port(), "A_PORT", lambda _: gateway.client.app, tls=certificate)

    async def note() -> None:
        reloaded.set()

    task = asyncio.create_task(serve([service], ready=lambda _: started.set(), reload=note))
    await started.wait()

    async def shown() -> bytes:
        found = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", service.port))
        return ssl.PEM_cert_to_DER_cert(found)

    async def shown_after_reload() -> bytes:
        reloaded.clear()
        os.kill(os.getpid(), signal.SIGHUP)
        await reloaded.wait()
        return await shown()

    issued = trustme.CA().issue_cert("127.0.0.1")
    renewed = ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode())
    chain, key = certificate
    old = await shown()
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    assert await shown_after_reload() == old, "the key is still the old one"
    assert [record.levelname for record in caplog.records if "certificate" in record.message] == ["ERROR"]
    key.write_bytes(issued.private_key_pem.bytes())
    assert await shown_after_reload() == renewed
    os.kill(os.getpid(), signal.SIGTERM)
    await task


@pytest.mark.usefixtures("hangups")
async def test_without_reload_sighup_asks_to_stop(gateway: Gateway):
    started = asyncio.Event()
    service = Service("thing", "127.0.0.1", free_port(), "A_PORT", lambda _: gateway.client.app)
    task = asyncio.create_task(serve([service], ready=lambda _: started.set()))
    await started.wait()
    os.kill(os.getpid(), signal.SIGHUP)
    await task


async def test_a_service_with_a_certificate_speaks_tls_alone(gateway: Gateway, certificate: tuple[Path, Path]):
    addresses: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    service = Service("thing", "127.0.0.1", free_port(), "A_PORT", lambda _: gateway.client.app, tls=certificate)
    task = asyncio.create_task(serve([service], ready=lambda found: addresses.set_result(*found.values())))
    address = await addresses
    assert address == f"https://127.0.0.1:{service.port}"
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port, ssl=trusting)
    writer.write(request("GET", "/health"))
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    assert (await exchange(service.port, request("GET", "/health")))[0] == b""
    os.kill(os.getpid(), signal.SIGTERM)
    await task


def test_a_certificate_that_is_of_no_use_is_told_before_anything_is_started(
    tmp_path: Path, certificate: tuple[Path, Path]
):
    chain, key = certificate
    other = tmp_path / "other.pem"
    other.write_bytes(trustme.CA().issue_cert("localhost").private_key_pem.bytes())
    locked = tmp_path / "locked.pem"
    loaded = load_pem_private_key(key.read_bytes(), None)
    locked.write_bytes(
        loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"a passphrase"))
    )
    for used, sentence in [
        ((chain, other), "KEY_VALUES_MISMATCH"),
        ((key, chain), "the thing cannot use the certificate"),
        ((tmp_path / "none.pem", key), "No such file"),
        ((chain, locked), "has a passphrase"),
    ]:
        with pytest.raises(ConfigError) as raised:
            check_tls(Service("thing", "127.0.0.1", 1, "A_PORT", lambda _: _, tls=used))
        assert sentence in str(raised.value)
        assert raised.value.hint
