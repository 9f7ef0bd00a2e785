"""What `tocsin doctor` looks at of the MCP server."""

from collections.abc import AsyncIterator

from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.mcp.connection import server_url, try_connection
from tocsin.features.mcp.feature import TOCSIN_TOKEN
from tocsin.features.mcp.service import AgentTools
from tocsin.terminal.findings import Finding


async def check_mcp(agents: AgentTools) -> AsyncIterator[Finding]:
    """Try the connection if TOCSIN_TOKEN is set."""
    settings = agents.context.settings
    if not settings[TOCSIN_TOKEN]:
        return
    problem, tools = await try_connection(server_url(agents), settings[TOCSIN_TOKEN])
    if problem:
        yield Finding("warning", "mcp", f"agents cannot connect: {problem}", "start `tocsin up`, and check the token")
    else:
        yield Finding("ok", "mcp", f"agents can connect; this token has {tools} tools")


CHECKS: Checks[AgentTools] = (FeatureCheck(check_mcp),)
