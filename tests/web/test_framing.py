"""Attacks on the framing of requests, on the real server and behind nginx and HAProxy as the guide sets them up."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from tests import waiting
from tests.ports import free_port
from tests.waiting import PATIENCE_S
from tests.web.conftest import TOKEN, MakeGateway
from tests.web.framing import AMBIGUOUS, FORGED, TRAILERS
from tests.web.test_serving import exchange

from tocsin.web.http.serving import Service, listen
from tocsin.web.http.serving import _server as server_of

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
BEHIND_A_PROXY = {"GATEWAY_TOKEN": TOKEN, "TRUSTED_PROXIES": "127.0.0.1", "FORCE_HTTPS": "true"}
STRANGER = "127.0.0.2"  # is no proxy that the gateway trusts
# How long a further answer, and a first one to what may make the server wait for more, is waited for.
SILENCE_S, UNANSWERED_S = 0.2, 2.0
SBIN = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Recorded:
    """The gateway, and the headers of every request that reached it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        self.scopes.append(scope)  # when it has been answered: what came with the body counts, too

    def values(self, name: bytes) -> set[bytes]:
        return {value for scope in self.scopes for key, value in scope["headers"] if key == name}


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[int]:
    """Serve `app` as the command does; give the port."""
    service = Service("gateway", "127.0.0.1", 0, "GATEWAY_PORT", lambda _: app)
    with listen(service) as sock:
        server: uvicorn.Server = server_of(service)
        task = asyncio.create_task(server.serve(sockets=[sock]))
        yield sock.getsockname()[1]
        server.should_exit = True
        await task


def snippet(language: str) -> str:
    """Return the guide's configuration of a proxy."""
    found = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found
    return found[1]


def nginx_configuration(front: int, gateway: int, directory: Path) -> str:
    server = snippet("nginx").replace("listen 443 ssl;", f"listen 127.0.0.1:{front};")
    server = re.sub(r" *ssl_certificate.*;\n", "", server).replace("127.0.0.1:8100", f"127.0.0.1:{gateway}")
    temporary = "".join(
        f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"daemon off; pid {directory}/pid; error_log stderr;\nevents {{}}\n"
    return f"{main}http {{ access_log off; {temporary}\n{server}}}\n"


def haproxy_configuration(front: int, gateway: int, directory: Path) -> str:
    text = snippet("haproxy").replace("bind :443 ssl crt /etc/ssl/tocsin.pem", f"bind 127.0.0.1:{front}")
    return "defaults\n    timeout client 30s\n    timeout connect 5s\n" + text.replace(":8100", f":{gateway}")


PROXIES = {
    "nginx": (nginx_configuration, ["nginx", "-c"]),
    "haproxy": (haproxy_configuration, ["haproxy", "-db", "-f"]),
}


@asynccontextmanager
async def proxied(product: str, gateway: int, directory: Path) -> AsyncIterator[int]:
    """Run a proxy without TLS in front of the gateway: what it passes on came by plain HTTP. Give its port."""
    configuration, command = PROXIES[product]
    front = free_port()
    file = directory / product
    file.write_text(configuration(front, gateway, directory))
    program = shutil.which(command[0], path=SBIN)
    assert program, f"install {product}"
    process = await asyncio.create_subprocess_exec(
        program, *command[1:], str(file), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await accepts(front):
                assert process.returncode is None, (await process.stderr.read()).decode()
                await asyncio.sleep(0.02)
        yield front
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def attack(port: int, raw: bytes, source: str = "127.0.0.1", *, answered_within_s: float = PATIENCE_S) -> bytes:
    """Send `raw` and then nothing more; give all that comes back until the other side closes or falls silent.

    The sending side stays open: nginx drops the request of a client that closes it.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    answer = b""
    try:
        writer.write(raw)
        while piece := await asyncio.wait_for(reader.read(65536), SILENCE_S if answer else answered_within_s):
            answer += piece
    except (TimeoutError, ConnectionResetError):
        pass
    finally:
        writer.transport.abort()
    return answer


def refused(answer: bytes) -> bool:
    return answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


async def write_until_cut_off(writer: asyncio.StreamWriter, filler: bytes) -> None:
    """Write more than any buffer on the way holds."""
    for _ in range(100_000):
        writer.write(filler)
        await writer.drain()


@pytest.mark.parametrize("name", TRAILERS)
async def test_no_field_after_the_head_counts_as_a_header(make_gateway: MakeGateway, name: str):
    app = Recorded(make_gateway(BEHIND_A_PROXY).client.app)
    honest = b"Connection: close\r\nX-Forwarded-Proto: http\r\nX-Forwarded-For: 198.51.100.7\r\n"
    async with served(app) as port:
        answer = await attack(port, TRAILERS[name].replace(b"Host: localhost\r\n", b"Host: localhost\r\n" + honest, 1))
    assert refused(answer)
    assert app.values(b"x-forwarded-proto") <= {b"http"}
    assert app.values(b"x-forwarded-for") <= {b"198.51.100.7"}
    assert not app.values(b"authorization")


@pytest.mark.parametrize("product", PROXIES)
async def test_behind_a_proxy_no_framing_forges_what_the_proxy_says(
    make_gateway: MakeGateway, tmp_path: Path, product: str
):
    app = Recorded(make_gateway(BEHIND_A_PROXY | {"RATE_LIMIT_PER_IP": "100000"}).client.app)
    async with served(app) as gateway, proxied(product, gateway, tmp_path) as front:
        for name, raw in {**TRAILERS, **AMBIGUOUS}.items():
            app.scopes.clear()
            answer = await attack(front, raw, STRANGER, answered_within_s=UNANSWERED_S)
            assert b"HTTP/1.1 200 " not in answer, name
            assert app.values(b"x-forwarded-proto") <= {b"http"}, name
            clients = {scope["tocsin.client"] for scope in app.scopes}
            assert clients <= {STRANGER}, name


@pytest.mark.parametrize("product", PROXIES)
async def test_guesses_of_the_token_meet_the_limit_whatever_address_a_trailer_claims(
    make_gateway: MakeGateway, tmp_path: Path, product: str
):
    app = make_gateway({**BEHIND_A_PROXY, "FORCE_HTTPS": "false"}).client.app
    wrong = b"Authorization: Bearer wrong\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
    async with served(app) as gateway, proxied(product, gateway, tmp_path) as front:
        statuses = []
        for guess in range(70):
            claim = b"X-Forwarded-For: 203.0.113.%d\r\n" % guess
            raw = b"POST /send HTTP/1.1\r\nHost: localhost\r\n" + wrong + b"\r\n2\r\n{}\r\n0\r\n" + claim + b"\r\n"
            statuses.append((await attack(front, raw, STRANGER))[9:12])
    assert statuses == [b"401"] * 60 + [b"429"] * 10


async def test_a_request_of_too_many_header_lines_is_refused(make_gateway: MakeGateway):
    async with served(make_gateway().client.app) as port:
        head, _ = await exchange(port, b"GET /channels HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 100 + b"\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")


async def test_a_body_of_thousands_of_tiny_chunks_is_refused(make_gateway: MakeGateway):
    head = b"POST /webhook/teamchat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with served(make_gateway({"TEAMCHAT_SIGNING_SECRET": "made-up-secret"}).client.app) as port:
        tiny = await attack(port, head + b"1\r\nx\r\n" * 5_000 + b"0\r\n\r\n")
        fair = await attack(port, head + b"100\r\n" + b"x" * 256 + b"\r\n0\r\n\r\n")
        few = await attack(port, head + b"1\r\nx\r\n" * 1_000 + b"0\r\n\r\n")
    assert b"HTTP/1.1 400 " in tiny
    assert fair.startswith(b"HTTP/1.1 401 ")
    assert few.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("filler", [b"X: " + b"x" * 8000 + b"\r\n", b"x" * 8000], ids=["lines", "one-line"])
async def test_endless_trailers_are_cut_off(make_gateway: MakeGateway, filler: bytes):
    async with served(make_gateway().client.app) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(TRAILERS["proto"].removesuffix(FORGED + b"\r\n"))
        with pytest.raises(ConnectionError):
            await write_until_cut_off(writer, filler)
        writer.transport.abort()


async def test_a_hundred_requests_at_once_are_refused_after_the_answers_that_are_owed(make_gateway: MakeGateway):
    ask = b"GET /channels HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with served(make_gateway().client.app) as port:
        answer = await attack(port, ask * 100)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") < 20


async def test_what_is_not_http_is_answered_after_the_answer_that_is_owed(make_gateway: MakeGateway):
    async with served(make_gateway().client.app) as port:
        answer = await attack(port, b"GET /channels HTTP/1.1\r\nHost: localhost\r\n\r\n\x00garbage\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 400 " not in answer


async def test_a_request_that_offers_another_protocol_is_answered_in_this_one(make_gateway: MakeGateway):
    ask = b"GET /channels HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    async with served(make_gateway().client.app) as port:
        head, body = await exchange(port, ask)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b'["teamchat"]'


_UNASKED = b"POST /send HTTP/1.1\r\nHost: localhost\r\n"


@asynccontextmanager
async def answered_before_its_body(make_gateway: MakeGateway, *fields: bytes) -> AsyncIterator[Stream]:
    """Send the head of a request that is answered for its head alone; give the connection after this answer."""
    async with served(make_gateway({"GATEWAY_TOKEN": TOKEN}).client.app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(_UNASKED + b"".join(b"%b\r\n" % field for field in fields) + b"\r\n")
            async with asyncio.timeout(waiting.PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 401 ")
                length = re.search(rb"content-length: (\d+)", head)
                assert length
                await reader.readexactly(int(length[1]))
                yield reader, writer
        finally:
            writer.transport.abort()


@pytest.mark.parametrize(
    ("field", "body"),
    [(b"Content-Length: 9", b"{} {} {} "), (b"Transfer-Encoding: chunked", b"9\r\n{} {} {} \r\n0\r\n\r\n")],
    ids=["length", "chunked"],
)
async def test_a_connection_stays_usable_when_a_request_was_answered_before_its_body_came(
    make_gateway: MakeGateway, field: bytes, body: bytes
):
    async with answered_before_its_body(make_gateway, field) as (reader, writer):
        writer.write(body[:4])
        await writer.drain()
        writer.write(body[4:] + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_a_broken_body_of_an_answered_request_ends_the_connection_without_a_second_answer(
    make_gateway: MakeGateway,
):
    async with answered_before_its_body(make_gateway, b"Transfer-Encoding: chunked") as (reader, writer):
        writer.write(b"no chunk\r\n")
        assert await reader.read() == b""


async def test_who_asks_before_sending_a_body_and_is_answered_may_not_use_the_connection_again(
    make_gateway: MakeGateway,
):
    fields = b"Content-Length: 9", b"Expect: 100-continue"
    async with answered_before_its_body(make_gateway, *fields) as (reader, writer):
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.read() == b""


async def test_the_rest_of_a_request_that_is_already_answered_is_not_read_for_ever(make_gateway: MakeGateway):
    async with served(make_gateway({"GATEWAY_TOKEN": TOKEN}).client.app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConnectionError):
            await write_until_cut_off(writer, b" " * 65536)
        writer.transport.abort()
