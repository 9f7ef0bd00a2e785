"""The protocol over standard input and output, one message per line, in the process of the caller."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

from tocsin.features.mcp.feature import MCP_STDIO_SCOPES, TOCSIN_TOKEN
from tocsin.features.mcp.protocol import INVALID_REQUEST, PARSE_ERROR, McpReply, answer, error_reply
from tocsin.features.mcp.service import MAX_AT_ONCE, AgentTools

MAX_LINE = 1_048_576
OpenDashboard = Callable[[str, frozenset[str]], Any]
_LISTING, _CALLING = "tools/list", "tools/call"


class _NoTools:
    """For the methods that need no tools, so that the start does not load the operations."""

    async def listed(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class LocalServer:
    """Answers the lines of one client."""

    def __init__(self, agents: AgentTools, open_dashboard: OpenDashboard) -> None:
        self._settings = agents.context.settings
        self._open_dashboard = open_dashboard

    @cached_property
    def _dashboard(self) -> Any:
        return self._open_dashboard(self._settings[TOCSIN_TOKEN], self._settings[MCP_STDIO_SCOPES])

    async def serve(self, read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], None]) -> None:
        """Answer until `read` returns an empty line; up to 16 calls run at once."""
        turns = asyncio.Semaphore(MAX_AT_ONCE)

        async def handle(line: bytes) -> None:
            async with turns:
                if reply := await self.answer(line):
                    write(reply + b"\n")

        async with asyncio.TaskGroup() as group:
            while line := await read():
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
        return _encoded(await answer(message, None, _NoTools()))

    async def _forward(self, line: bytes, request_id: object) -> bytes:
        """Return the response of the dashboard, which is loaded by the first such line."""
        sent: list[dict[str, Any]] = []
        given = [{"type": "http.request", "body": line, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return given.pop() if given else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 0),
        }
        await self._dashboard(scope, receive, send)
        body = b"".join(each.get("body", b"") for each in sent)
        if any(name == b"content-type" and b"problem" in value for name, value in sent[0]["headers"]):
            return _encoded(error_reply(INVALID_REQUEST, json.loads(body)["detail"], request_id))
        return body


def _encoded(reply: McpReply) -> bytes:
    return json.dumps(reply.document).encode() if reply.document else b""


async def serve_standard_streams(agents: AgentTools, open_dashboard: OpenDashboard) -> None:
    """Serve until the client closes standard input."""
    reader = asyncio.StreamReader(limit=MAX_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def read() -> bytes:
        try:
            return await reader.readuntil()
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            return await _skip_line(reader)

    def write(reply: bytes) -> None:
        sys.stdout.buffer.write(reply)
        sys.stdout.buffer.flush()

    await LocalServer(agents, open_dashboard).serve(read, write)


async def _skip_line(reader: asyncio.StreamReader) -> bytes:
    """Read to the end of a line that is too long; return as much of it as shows that."""
    while True:
        try:
            await reader.readuntil()
        except asyncio.LimitOverrunError as error:
            await reader.readexactly(error.consumed)
        except asyncio.IncompleteReadError:
            break
        else:
            break
    return b" " * MAX_LINE + b"x"
