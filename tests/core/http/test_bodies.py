"""Bodies that are read while they are sent: what arrives, what a retry sends, and how little memory it takes."""

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email import message_from_bytes

import pytest

from tocsin.channels.attached import AttachedFile
from tocsin.channels.email.attachments import MailWithFiles, encoded_size
from tocsin.core.errors import RemoteError
from tocsin.core.http.bodies import StreamedBody, file_body, multipart
from tocsin.core.http.direct import DirectTransport

MIB = 2**20
BLOCK = b"x" * 65_536


@dataclass
class Server:
    """A server that keeps the header and counts the body."""

    url: str = ""
    head: bytes = b""
    received: int = 0
    answer_at: int | None = None  # answers 413 after so many bytes


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            server.head, server.received = head, 0
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            while server.received < length:
                if server.answer_at is not None and server.received >= server.answer_at:
                    writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    await writer.drain()
                    while await reader.read(65_536):  # closed with bytes unread, the connection would lose the answer
                        pass
                    return
                if not (block := await reader.read(65_536)):
                    return
                server.received += len(block)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()

    connections: list[asyncio.StreamWriter] = []

    async def safely(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(safely, "127.0.0.1", 0)
    async with listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        yield server
        for each in connections:  # from Python 3.12 on, the server waits for them
            each.close()


@pytest.fixture
async def http() -> AsyncIterator[DirectTransport]:
    transport = DirectTransport()
    yield transport
    await transport.aclose()


def made(mib: int, name: str = "a.log") -> AttachedFile:
    async def blocks() -> AsyncGenerator[bytes]:
        for _ in range(mib * 16):
            yield BLOCK

    return AttachedFile(name, "text/plain", mib * MIB, blocks)


async def whole(body: StreamedBody) -> bytes:
    return b"".join([block async for block in body.blocks()])


async def test_a_form_has_its_fields_and_files_and_the_length_that_it_states():
    async def blocks() -> AsyncGenerator[bytes]:
        yield b"one "
        yield b"two"

    file = AttachedFile('a "b"\u00e4.log', "text/plain", 7, blocks)
    body = multipart({"caption": "Gr\u00fc\u00dfe", "mode": None}, [("document", file)])
    raw = await whole(body)
    assert len(raw) == len(body)
    form = message_from_bytes(f"Content-Type: {body.content_type}\r\n\r\n".encode() + raw)
    text, sent = form.get_payload()  # type: ignore[misc]
    assert text.get_payload(decode=True).decode() == "Gr\u00fc\u00dfe"  # type: ignore[union-attr]
    assert sent.get_payload(decode=True) == b"one two"  # type: ignore[union-attr]
    assert 'filename="a %22b%22\u00e4.log"'.encode() in raw


async def test_a_large_body_takes_little_memory_over_four_attempts(http: DirectTransport):
    body = multipart({"chat_id": "7"}, [("document", made(20))])
    async with serving(Server()) as server:
        tracemalloc.start()
        try:
            for _ in range(4):
                reply = await http.request(
                    "POST", server.url, headers={"Content-Type": body.content_type}, body=body, timeout_s=200.0
                )
                assert (reply.status, server.received) == (200, len(body))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 10 * MIB


async def test_a_mail_with_a_large_file_takes_little_memory():
    mail = MailWithFiles(b"lead\r\n", ((b"head\r\n\r\n", made(20)),), b"tail\r\n")
    size = len(mail.lead)
    tracemalloc.start()
    try:
        async for block in mail.blocks():
            size += len(block)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == len(mail) == len(mail.lead) + len(mail.tail) + 8 + encoded_size(20 * MIB)
    assert peak < 10 * MIB


async def test_a_server_that_answers_early_is_heard_and_the_connection_is_not_used_again(http: DirectTransport):
    async with serving(Server(answer_at=MIB)) as server:
        reply = await http.request("POST", server.url, headers={}, body=file_body(made(20)), timeout_s=200.0)
        assert reply.status == 413
        server.answer_at = None
        reply = await http.request("POST", server.url, headers={}, body=file_body(made(1)))
        assert (reply.status, server.received) == (200, MIB)


async def _short() -> AsyncGenerator[bytes]:
    yield b"less"


async def _broken() -> AsyncGenerator[bytes]:
    yield b"some"
    raise RemoteError("the content of a file is gone")


@pytest.mark.parametrize(("blocks", "said"), [(_short, "changed while it was sent"), (_broken, "is gone")])
async def test_a_body_that_is_shorter_than_it_states_is_an_error_and_no_message(
    http: DirectTransport, blocks: Callable[[], AsyncGenerator[bytes]], said: str
):
    async with serving(Server()) as server:
        with pytest.raises(RemoteError, match=said):
            await http.request("POST", server.url, headers={}, body=StreamedBody(100, blocks))
