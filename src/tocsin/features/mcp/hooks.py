"""The MCP server as the rest of the program uses it."""

from tocsin.features.hooks import FeatureHooks
from tocsin.features.mcp.service import AgentTools

HOOKS = FeatureHooks[AgentTools](open=AgentTools)
