"""A proxy before a Redis of the tests: it holds answers back until a test lets them through, and cuts connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


class LateRedis:
    """Passes everything on; while `late` is set, what the server answers waits."""

    def __init__(self, server: Path, own: Path) -> None:
        self.url = f"unix://{own}"
        self.waiting = 0  # answers
        self.sent = b""  # by clients
        self._server = server
        self._prompt = asyncio.Event()
        self._prompt.set()
        self._cut = False
        self._writers: set[asyncio.StreamWriter] = set()

    def hold(self) -> None:
        self._prompt.clear()

    def let_through(self) -> None:
        self._prompt.set()

    def cut(self) -> None:
        """End all connections and accept none."""
        self._cut = True
        for writer in self._writers:
            writer.close()

    def mend(self) -> None:
        self._cut = False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.close()
            return
        to_reader, to_writer = await asyncio.open_unix_connection(str(self._server))
        both = {writer, to_writer}
        self._writers |= both
        try:
            with suppress(ConnectionError):
                await asyncio.gather(self._ask(reader, to_writer), self._answer(to_reader, writer))
        finally:
            for each in both:
                each.close()
            self._writers -= both

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.sent += data
            writer.write(data)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.waiting += 1
            await self._prompt.wait()
            self.waiting -= 1
            writer.write(data)
        writer.close()


@asynccontextmanager
async def late_redis(server: Path, own: Path) -> AsyncIterator[LateRedis]:
    """Run a proxy at the socket `own` before the one of a server."""
    proxy = LateRedis(server, own)
    listening = await asyncio.start_unix_server(proxy.connected, str(own))
    try:
        yield proxy
    finally:
        proxy.let_through()
        proxy.cut()
        listening.close()
