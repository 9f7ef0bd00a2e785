"""A first request to the MCP server, as an agent makes it, for `tocsin mcp setup` and `tocsin doctor`."""

import json

from tocsin.core.config.variables import DASHBOARD_HOST, DASHBOARD_PORT, DASHBOARD_TLS_CERT
from tocsin.core.errors import TocsinError
from tocsin.core.http.direct import DirectTransport
from tocsin.features.mcp.protocol import LEGACY
from tocsin.features.mcp.service import AgentTools

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # compared, not bound


def server_url(agents: AgentTools) -> str:
    """Return the address of the server on this machine."""
    settings = agents.context.settings
    host = settings[DASHBOARD_HOST]
    shown = _WILDCARDS.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if settings[DASHBOARD_TLS_CERT] else 'http'}://{shown}:{settings[DASHBOARD_PORT]}/mcp"


async def try_connection(url: str, token: str) -> tuple[str, int]:
    """Return why an agent cannot connect, empty if it can, and the number of its tools."""
    if not token:
        return "TOCSIN_TOKEN is not set here, so the connection was not tried", 0
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LEGACY[0]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    transport = DirectTransport()
    try:
        response = await transport.request("POST", url, headers=headers, body=body)
    except TocsinError as error:
        return error.sentence(), 0
    finally:
        await transport.aclose()
    found = response.json_object() or {}
    if response.status == 200 and "result" in found:
        return "", len(found["result"]["tools"])
    return str(found.get("detail") or f"the server answered {response.status}"), 0
