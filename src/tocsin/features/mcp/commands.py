"""mcp: serve agents over standard input and output, and print how to connect them."""

import argparse

from tocsin.features.contract import Commands
from tocsin.features.mcp.connection import AgentConnection, server_url, try_connection
from tocsin.features.mcp.local import serve_standard_streams
from tocsin.features.mcp.service import AgentTools
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program

# What to paste, by client; the token stays in the environment of the client.
_LINES = {
    "claude": (
        "claude mcp add --scope project --transport http tocsin {url} "
        "--header 'Authorization: Bearer ${{TOCSIN_TOKEN}}'",
    ),
    "codex": ("codex mcp add tocsin --url {url} --bearer-token-env-var TOCSIN_TOKEN",),
    "gemini": (
        "gemini mcp add --scope user --transport http tocsin {url} --header 'Authorization: Bearer $TOCSIN_TOKEN'",
    ),
    "opencode": (
        "# opencode.json:",
        '{{"mcp": {{"tocsin": {{"type": "remote", "url": "{url}", "oauth": false, '
        '"headers": {{"Authorization": "Bearer {{env:TOCSIN_TOKEN}}"}}}}}}}}',
    ),
    "cursor": (
        "# ~/.cursor/mcp.json:",
        '{{"mcpServers": {{"tocsin": {{"url": "{url}", '
        '"headers": {{"Authorization": "Bearer ${{env:TOCSIN_TOKEN}}"}}}}}}}}',
    ),
}


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the arguments and the subcommand of `tocsin mcp`."""
    setup = add_subcommands(parser, {"setup": "print the lines that connect an agent, and check the connection"},
                            required=False)["setup"]  # fmt: skip
    parser.epilog = (
        "example: tocsin mcp\n\nWithout a subcommand, it serves one agent over standard input and output, with the "
        "rights of TOCSIN_TOKEN or of MCP_STDIO_SCOPES."
    )
    parser.set_defaults(run=_serve)
    setup.epilog = "example: tocsin mcp setup claude"
    setup.add_argument("client", choices=sorted(_LINES), help="the agent to connect")
    setup.add_argument("--url", default="", help="address of the server (default: the dashboard on this machine)")
    setup.set_defaults(run=_setup)


def _serve(_: argparse.Namespace, out: Console, program: Program) -> int:
    program.run_with_dashboard(serve_standard_streams)
    return DONE


def _setup(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def check(agents: AgentTools) -> tuple[str, AgentConnection]:
        url = arguments.url or server_url(agents)
        return url, await try_connection(agents, url)

    url, found = program.run(check)
    lines = [line.format(url=url) for line in _LINES[arguments.client]]
    answer = {"url": url, "lines": lines, "tools": found.tools, "problem": found.problem, "warning": found.warning}
    out.answer(answer, *lines)
    if not out.as_json:
        create = "tocsin tokens create NAME --scope send --scope read"
        out.note(f"Set TOCSIN_TOKEN in the environment of the agent to a token of `{create}`.")
        out.note(f"check: {found.problem or found.warning or f'connected, {len(found.tools)} tools'}")
    return FAILED if found.problem else DONE


COMMANDS: Commands = {"mcp": configure_mcp}
