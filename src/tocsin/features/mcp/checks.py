"""The checks of the MCP server in `tocsin doctor`."""

from collections.abc import AsyncIterator

from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.mcp.connection import server_url, try_connection
from tocsin.features.mcp.feature import TOCSIN_TOKEN
from tocsin.features.mcp.service import AgentTools
from tocsin.terminal.findings import Finding


async def check_mcp(agents: AgentTools) -> AsyncIterator[Finding]:
    """Try the connection if TOCSIN_TOKEN is set."""
    if not agents.context.settings[TOCSIN_TOKEN]:
        return
    found = await try_connection(agents, server_url(agents))
    if found.problem:
        problem = f"agents cannot connect: {found.problem}"
        yield Finding("warning", "mcp", problem, "start `tocsin up`, and check the token")
    elif found.warning:
        yield Finding("warning", "mcp", found.warning, "`tocsin mcp setup claude --json` lists the tools of a token")
    else:
        yield Finding("ok", "mcp", f"agents can connect; this token has {len(found.tools)} tools")


CHECKS: Checks[AgentTools] = (FeatureCheck(check_mcp),)
