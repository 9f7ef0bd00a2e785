"""A first request to the MCP server, as an agent makes it, for `tocsin mcp setup` and `tocsin doctor`."""

import json
from typing import NamedTuple

from tocsin.core.config.variables import DASHBOARD_HOST, DASHBOARD_PORT, DASHBOARD_TLS_CERT
from tocsin.core.errors import TocsinError
from tocsin.core.http.direct import DirectTransport
from tocsin.features.mcp.feature import TOCSIN_TOKEN
from tocsin.features.mcp.protocol import LEGACY
from tocsin.features.mcp.service import AgentTools

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # compared, not bound


def server_url(agents: AgentTools) -> str:
    """Return the address of the server on this machine."""
    settings = agents.context.settings
    host = settings[DASHBOARD_HOST]
    shown = _WILDCARDS.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if settings[DASHBOARD_TLS_CERT] else 'http'}://{shown}:{settings[DASHBOARD_PORT]}/mcp"


class AgentConnection(NamedTuple):
    """The answer to the first request of an agent."""

    problem: str = ""  # why an agent cannot connect
    tools: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # tools that MCP_TOOLS names and the agent does not get

    @property
    def warning(self) -> str:
        """What is wrong with MCP_TOOLS."""
        names = ", ".join(self.missing)
        return f"MCP_TOOLS names tools that do not exist or need another scope: {names}" if names else ""


async def try_connection(agents: AgentTools, url: str) -> AgentConnection:
    """Ask the server for its tools, with TOCSIN_TOKEN."""
    if not (token := agents.context.settings[TOCSIN_TOKEN]):
        return AgentConnection("TOCSIN_TOKEN is not set here, so the connection was not tried")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LEGACY[0]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    transport = DirectTransport()
    try:
        response = await transport.request("POST", url, headers=headers, body=body)
    except TocsinError as error:
        return AgentConnection(error.sentence())
    finally:
        await transport.aclose()
    found = response.json_object() or {}
    if response.status != 200 or "result" not in found:
        return AgentConnection(str(found.get("detail") or f"the server answered {response.status}"))
    names = tuple(each["name"] for each in found["result"]["tools"])
    return AgentConnection("", names, tuple(each for each in agents.named if each not in names))
