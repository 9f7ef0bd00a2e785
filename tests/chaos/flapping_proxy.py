"""A proxy before a real homeserver that loses connections, before or after it has passed on the request."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from tests.ports import free_port

CUT, LOSE = "cut", "lose"


class FlappingProxy:
    """Passes on connections; while its mode is `CUT` it closes them, while it is `LOSE` it closes them at an answer."""

    MODES = (CUT, LOSE)

    def __init__(self, upstream: str, settings: dict[str, str]) -> None:
        self._upstream = urlsplit(upstream)
        self._settings = settings
        self._port = free_port()
        self._mode: str | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.lost = 0  # answers

    def environment(self) -> dict[str, str]:
        """Return the settings that point Tocsin here."""
        return {"MATRIX_URL": f"http://127.0.0.1:{self._port}", **self._settings}

    def set_mode(self, mode: str | None) -> None:
        """Begin or end an outage."""
        self._mode = mode
        if mode == CUT:
            for writer in self._open:
                writer.transport.abort()

    async def run(self, serving: Callable[[], Awaitable[None]]) -> None:
        """Listen while `serving` runs."""
        server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        async with server:
            await serving()
            for writer in self._open:
                writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode == CUT:
            writer.transport.abort()
            return
        self._open.add(writer)
        up_reader, up_writer = await asyncio.open_connection(self._upstream.hostname, self._upstream.port)
        try:
            await asyncio.gather(self._copy(reader, up_writer), self._copy(up_reader, writer, answers=True))
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()
            up_writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool = False) -> None:
        while piece := await reader.read(2**16):
            if answers and self._mode == LOSE:
                self.lost += 1
                raise ConnectionAbortedError
            writer.write(piece)
            await writer.drain()
        raise ConnectionAbortedError
