"""A front door with a mail server on a port of its own, and mail clients."""

import asyncio
import smtplib
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pytest
from tests.features.doors.conftest import FrontBench, open_front
from tests.ports import free_port
from tests.waiting import eventually

from tocsin.features.doors.settings import SMTP_IN_PORT

T = TypeVar("T")

MAIL = b"Subject: Disk full\r\nFrom: nas@example.org\r\nTo: oncall@tocsin\r\n\r\n/var has 1 % left\r\n"


class MailBench:
    """A front door that takes mail."""

    def __init__(self, front: FrontBench) -> None:
        self.front = front
        self.port = front.bench.app.settings[SMTP_IN_PORT]

    async def add(self, name: str = "nas", **fields: Any) -> str:
        """Add a door, and return its token."""
        return (await self.front.add(name, protocol="mail", **fields)).token

    async def talk(self, work: Callable[[smtplib.SMTP], T]) -> T:
        """Let a client of Python work in a thread of its own."""

        def run() -> T:
            with smtplib.SMTP("127.0.0.1", self.port, timeout=60) as client:
                return work(client)

        return await asyncio.to_thread(run)

    async def send(self, *to: str, mail: bytes = MAIL, login: tuple[str, str] | None = None) -> dict[str, Any]:
        """Send a mail by smtplib, and return the recipients that were refused."""

        def work(client: smtplib.SMTP) -> dict[str, Any]:
            if login:
                client.login(*login)
            return client.sendmail("nas@example.org", list(to), mail)

        return await self.talk(work)

    async def raw(self, *chunks: bytes) -> bytes:
        """Send bytes as they are, each once the former was answered, and return all answers."""

        def run() -> bytes:
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as client:
                answers = client.makefile("rb")
                found = answer(answers)
                for chunk in chunks:
                    client.sendall(chunk)
                    found += answer(answers)
                answers.close()
                return found

        return await asyncio.to_thread(run)


def answer(lines: BinaryIO) -> bytes:
    """Read one answer, which may have several lines."""
    found = line = lines.readline()
    while line[3:4] == b"-":
        line = lines.readline()
        found += line
    return found


@asynccontextmanager
async def open_mail(tmp_path: Path, env: Mapping[str, str] | None = None) -> AsyncIterator[MailBench]:
    settings = {"SMTP_IN_PORT": str(free_port()), **(env or {})}
    async with open_front(tmp_path, settings) as front:
        listener = front.at_the_door.mail
        running = asyncio.create_task(listener.run())
        await eventually(lambda: running.done() or len(listener.addresses) == len(settings.keys() & _LISTENING))
        try:
            yield MailBench(front)
        finally:
            listener.stop()
            await running


_LISTENING = {"SMTP_IN_PORT", "SMTP_IN_TLS_PORT", "LMTP_IN_SOCKET"}


@pytest.fixture
async def mail(tmp_path: Path) -> AsyncIterator[MailBench]:
    async with open_mail(tmp_path) as mail:
        yield mail
