"""A first request to the MCP server, as an agent makes it, for `tocsin mcp setup` and `tocsin doctor`."""

import json
from typing import NamedTuple

from tocsin.core.config.core_variables import DASHBOARD_HOST, DASHBOARD_PORT, DASHBOARD_TLS_CERT
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
    warning: str = ""  # why it may get less than expected


async def try_connection(agents: AgentTools, url: str) -> AgentConnection:
    """Ask the server for its tools, with TOCSIN_TOKEN; without one, only whether it is there."""
    token = agents.context.settings[TOCSIN_TOKEN]
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": LEGACY[0], **({"Authorization": f"Bearer {token}"} if token else {})}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    transport = DirectTransport()
    try:
        response = await transport.request("POST", url, headers=headers, body=body)
    except TocsinError as error:
        return AgentConnection(error.sentence())
    finally:
        await transport.aclose()
    found = response.json_object() or {}
    if response.status == 401 and not token and found.get("code") == "unauthenticated":
        return AgentConnection(warning="the server answers; no token was tried, because TOCSIN_TOKEN is not set here")
    if response.status != 200 or "result" not in found:
        return AgentConnection(str(found.get("detail") or f"the server answered {response.status}"))
    names = tuple(each["name"] for each in found["result"]["tools"])
    missing = ", ".join(each for each in agents.named if each not in names)
    warning = f"MCP_TOOLS names tools that do not exist or need another scope: {missing}" if missing else ""
    return AgentConnection("", names, warning)
