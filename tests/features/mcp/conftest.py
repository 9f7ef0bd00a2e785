"""A whole program with its MCP server, called as an agent with a token calls it."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.web.dashboard.conftest import open_program

from tocsin.assembly.full.dashboard import _parts
from tocsin.testing.dashboard import DashboardClient, open_dashboard
from tocsin.testing.fakes import ScriptedTransport

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
VERSION = "io.modelcontextprotocol/protocolVersion"


@dataclass(slots=True)
class McpClient:
    """Sends JSON-RPC messages to `/mcp`."""

    client: DashboardClient
    app: Any

    async def ask(self, method, params=None, **headers):
        """Return the status and the response to a request of a version with `initialize`."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = await self.client.post("/mcp", body, **headers)
        return answer.status, answer.json()

    async def ask_modern(self, method, params=None, *, version="2026-07-28", **headers):
        """Return the status and the response to a stateless request."""
        body = {**(params or {}), "_meta": {VERSION: version, CAPABILITIES: {}}}
        usual = {"mcp_protocol_version": version, "mcp_method": method}
        if "name" in body:
            usual["mcp_name"] = body["name"]
        return await self.ask(method, body, **{**usual, **headers})

    async def call(self, name, /, **arguments):
        """Return the result of a tool."""
        status, found = await self.ask("tools/call", {"name": name, "arguments": arguments})
        assert status == 200, found
        return found["result"]

    async def refused(self, name, /, **arguments):
        """Return the protocol error of a call."""
        return (await self.ask("tools/call", {"name": name, "arguments": arguments}))[1]["error"]

    async def listed(self):
        """Return the listed tools."""
        return (await self.ask("tools/list"))[1]["result"]["tools"]

    async def names(self):
        """Return the names of the listed tools."""
        return [each["name"] for each in await self.listed()]

    def routes(self):
        """Return the routes of the operations."""
        return [route for area in _parts(self.app, lambda: False, None, None).operations for route in area.routes]

    def calls(self):
        """Return the audit entries of calls, the oldest first."""
        return [each for each in self.app.audit.log.tail(1000)[::-1] if each.action == "mcp.call"]


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
def settings():
    return {}


@pytest.fixture
async def agent(tmp_path, transport, settings):
    (tmp_path / "profiles.yaml").write_text("ops:\n  - {channel: teamchat, target: C012345}\n")
    limits = {"RATE_LIMIT_PER_IP": "1000000", "RATE_LIMIT_PER_USER": "1000000"}
    async with open_program(tmp_path, transport, {**limits, **settings}) as app, open_dashboard(app) as client:
        client.user, client.login, client.scopes = "token:web", "token", frozenset({"read", "send", "run"})
        yield McpClient(client, app)
