"""The protocol over standard input and output, one message per line, in the process of the caller."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable
from functools import cached_property
from typing import Any

from tocsin.features.mcp.feature import MCP_STDIO_SCOPES, TOCSIN_TOKEN
from tocsin.features.mcp.protocol import INVALID_REQUEST, PARSE_ERROR, McpReply, ToolServer, answer, error_reply
from tocsin.features.mcp.service import MAX_AT_ONCE, AgentTools
from tocsin.rest.in_process import request_in_process

MAX_LINE = 1_048_576
UNAUTHORIZED = 401
OpenDashboard = Callable[[str, frozenset[str]], Any]
_LISTING, _CALLING = "tools/list", "tools/call"


class LocalServer:
    """Answers the lines of one client."""

    def __init__(self, agents: AgentTools, open_dashboard: OpenDashboard) -> None:
        self._settings = agents.context.settings
        self._open_dashboard = open_dashboard

    @cached_property
    def _dashboard(self) -> Any:
        return self._open_dashboard(self._settings[TOCSIN_TOKEN], self._settings[MCP_STDIO_SCOPES])

    async def serve(self, lines: AsyncIterable[bytes], write: Callable[[bytes], None]) -> None:
        """Answer all lines; up to 16 calls run at once."""
        turns = asyncio.Semaphore(MAX_AT_ONCE)

        async def handle(line: bytes) -> None:
            async with turns:
                if reply := await self.answer(line):
                    write(reply + b"\n")

        async with asyncio.TaskGroup() as group:
            async for line in lines:
                if line.strip():
                    group.create_task(handle(line))

    async def answer(self, line: bytes) -> bytes:
        """Return the response to one line; empty for a notification."""
        if len(line) > MAX_LINE:
            return _encoded(error_reply(INVALID_REQUEST, f"The message is longer than {MAX_LINE} bytes."))
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _encoded(error_reply(PARSE_ERROR, "The line is not valid JSON in UTF-8."))
        if isinstance(message, dict) and message.get("method") in {_LISTING, _CALLING}:
            return await self._forward(line, message.get("id"))
        return _encoded(await answer(message, None, ToolServer()))  # the start loads no operations

    async def _forward(self, line: bytes, request_id: object) -> bytes:
        """Return the response of the dashboard, which is loaded by the first such line."""
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"method": "POST", "path": "/mcp", "headers": headers}
        response = await request_in_process(self._dashboard, scope, line)
        if response.status == UNAUTHORIZED:
            wrong = f"The token in {TOCSIN_TOKEN.name} is wrong or was revoked: `tocsin tokens list` shows the tokens."
            return _encoded(error_reply(INVALID_REQUEST, wrong, request_id))
        if b"problem" in response.media_type:
            return _encoded(error_reply(INVALID_REQUEST, json.loads(response.body)["detail"], request_id))
        return response.body


def _encoded(reply: McpReply) -> bytes:
    return json.dumps(reply.document).encode() if reply.document else b""


async def serve_standard_streams(agents: AgentTools, open_dashboard: OpenDashboard) -> None:
    """Serve until the client closes standard input."""
    reader = await _open_input()

    def write(reply: bytes) -> None:
        sys.stdout.buffer.write(reply)
        sys.stdout.buffer.flush()

    await LocalServer(agents, open_dashboard).serve(read_lines(reader), write)


async def _open_input() -> asyncio.StreamReader:
    """Return standard input, of which the loop can follow pipes, sockets and terminals, but no file or `/dev/null`."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    if sys.stdin is None:  # it is closed
        reader.feed_eof()
    elif _can_be_followed(loop, sys.stdin.fileno()):
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    else:
        reader.feed_data(await asyncio.to_thread(sys.stdin.buffer.read))
        reader.feed_eof()
    return reader


def _can_be_followed(loop: asyncio.AbstractEventLoop, descriptor: int) -> bool:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    try:
        loop.add_reader(descriptor, lambda: None)
    except PermissionError:  # epoll_ctl(2): the file does not support epoll
        return False
    loop.remove_reader(descriptor)
    return True


async def read_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines; of one that is too long, as much as shows that."""
    line = b""
    while chunk := await reader.read(65_536):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield (line + end)[: MAX_LINE + 1]
            line = b""
        line = (line + rest)[: MAX_LINE + 1]
    yield line
