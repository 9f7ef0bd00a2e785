"""The description of the MCP server."""

from tocsin.core.audit.actions import OUTCOME, AuditAction, AuditField
from tocsin.core.config.variables import Variable, token
from tocsin.features.contract import Feature, FeatureCommand

_SCOPES = ("read", "send", "run")


def _names(value: str) -> tuple[str, ...]:
    names = tuple(filter(None, (each.strip() for each in value.split(","))))
    if not all(each.isascii() and each.isidentifier() for each in names):
        raise ValueError("names of tools, separated by commas, such as notify,get_status")
    return names


def _scopes(value: str) -> frozenset[str]:
    scopes = frozenset(filter(None, (each.strip() for each in value.split(","))))
    if not scopes or not scopes <= {*_SCOPES}:
        raise ValueError(f"scopes, separated by commas, out of {', '.join(_SCOPES)}")
    return scopes


MCP_TOOLS: Variable[tuple[str, ...]] = Variable(
    "MCP_TOOLS",
    _names,
    (),
    "Names of the tools that agents get over MCP; by default, all but those that start runs or send to any target.",
)
MCP_STDIO_SCOPES = Variable(
    "MCP_STDIO_SCOPES",
    _scopes,
    frozenset({"read", "send"}),
    "Scopes of `tocsin mcp` without TOCSIN_TOKEN: out of read, send and run.",
    shown_default="read,send",
)
TOCSIN_TOKEN = Variable(
    "TOCSIN_TOKEN", token, "", "API token whose rights `tocsin mcp` has, instead of those of the account.", secret=True
)

MCP_CALL = AuditAction(
    "mcp.call",
    "An agent called a tool.",
    (
        AuditField("tool", "name of the tool"),
        AuditField("arguments", "SHA-256 of the arguments, as JSON with sorted keys"),
        OUTCOME,
    ),
    note="The arguments themselves are not recorded.",
)

FEATURE = Feature(
    name="mcp",
    title="MCP",
    package=__package__,
    summary="tools for agents over the Model Context Protocol",
    page="mcp.md",
    variables=(MCP_TOOLS, MCP_STDIO_SCOPES, TOCSIN_TOKEN),
    audit_actions=(MCP_CALL,),
    commands=(FeatureCommand("mcp", "serve the tools of agents over standard input and output, or print their setup"),),
)
