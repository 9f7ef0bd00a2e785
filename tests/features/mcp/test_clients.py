"""The client of the official SDK, over both transports."""

import os
import sys
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

TOCSIN = Path(sys.executable).parent / "tocsin"
MODES = ["auto", "legacy", "2026-07-28"]


async def use(transport, mode: str) -> tuple[str, set[str], list[str]]:
    """Connect, list and call a tool; return the version, the names of tools and the keys of the result."""
    async with Client(transport, mode=mode) as client:
        listed = await client.list_tools()
        result = await client.call_tool("get_status", {})
        assert not result.is_error, result
        return client.protocol_version, {each.name for each in listed.tools}, sorted(result.structured_content or {})


def stdio(data_dir: Path, **settings: str):
    """Return the transport to a `tocsin mcp` of a data directory."""
    env = {"PATH": os.environ["PATH"], "HOME": str(data_dir), "TOCSIN_DATA_DIR": str(data_dir), "REDIS_URL": "off"}
    return stdio_client(StdioServerParameters(command=str(TOCSIN), args=["mcp"], env={**env, **settings}, cwd=data_dir))


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_works_over_http_in_each_of_its_modes(agent, mode):
    async def app(scope, receive, send):
        caller = {"tests.user": "token:web", "tests.login": "token", "tests.scopes": frozenset({"read", "send"})}
        await agent.client.app({**scope, **caller}, receive, send)

    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8200")
    found = await use(streamable_http_client("http://127.0.0.1:8200/mcp", http_client=http), mode)
    assert found[0] == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert "notify" in found[1]
    assert found[2] == ["data", "untrusted"]


async def test_the_official_client_works_over_standard_streams(tmp_path):
    version, names, keys = await use(stdio(tmp_path, MCP_STDIO_SCOPES="read"), "auto")
    assert version == "2026-07-28"
    assert "notify" not in names
    assert {"get_status", "read_run_log"} <= names
    assert keys == ["data", "untrusted"]
