"""The protocol over standard input and output."""

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TextIO

import pytest
from tests.e2e.dashboard.served import serve_dashboard

from tocsin.assembly.full.dashboard import local_dashboard
from tocsin.features.mcp.local import MAX_LINE, LocalServer, read_lines
from tocsin.features.mcp.protocol import LEGACY


@pytest.fixture
def server(agent):
    return LocalServer(agent.app.features.opened("mcp"), partial(local_dashboard, agent.app))


async def ask(server: LocalServer, method: str, params=None):
    """Return the response to a request."""
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}).encode()
    return json.loads(await server.answer(line))


async def test_the_start_loads_no_operations(agent):
    def fail(token, scopes):
        raise AssertionError("the dashboard was opened")

    server = LocalServer(agent.app.features.opened("mcp"), fail)
    assert (await ask(server, "initialize", {"protocolVersion": LEGACY[0]}))["result"]["protocolVersion"] == LEGACY[0]
    assert await server.answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') == b""


async def test_without_a_token_the_account_reads_and_sends(server):
    names = {each["name"] for each in (await ask(server, "tools/list"))["result"]["tools"]}
    assert {"notify", "list_runs"} <= names
    assert "run_workflow" not in names


@pytest.mark.parametrize("settings", [{"TOCSIN_TOKEN": "tcs_wrong"}])
async def test_a_wrong_token_is_an_error_with_a_sentence(server):
    assert "TOCSIN_TOKEN" in (await ask(server, "tools/list"))["error"]["message"]


async def test_an_operator_asks_as_the_local_account_in_the_audit_log(server, agent):
    await ask(server, "tools/call", {"name": "list_runs", "arguments": {}})
    assert agent.calls()[-1].metadata["actor"] == "local"


@pytest.mark.parametrize(
    ("line", "code"), [(b"{", -32700), (b"[]", -32600), (b" " * MAX_LINE + b"{}", -32600), (b"[" * 100_000, -32700)]
)
async def test_malformed_lines_are_answered(server, line, code):
    assert json.loads(await server.answer(line))["error"]["code"] == code


async def test_lines_are_answered_until_the_input_ends(server: LocalServer):
    reader = asyncio.StreamReader()
    for n in range(40):
        reader.feed_data(json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() + b"\n\n"[: 1 + n % 2])
    reader.feed_eof()
    written: list[bytes] = []
    await server.serve(read_lines(reader), written.append)
    assert sorted(json.loads(each)["id"] for each in written) == list(range(40))


async def test_a_line_that_is_too_long_is_read_without_keeping_it_and_the_next_one_is_answered():
    reader = asyncio.StreamReader()
    for chunk in (b"x" * 3 * MAX_LINE, b"\n{}", b"\nlast"):
        reader.feed_data(chunk)
    reader.feed_eof()
    found = [line async for line in read_lines(reader)]
    assert [len(line) for line in found] == [MAX_LINE + 1, 2, 4]


def run_tocsin(data_dir: Path, *words: str, stdin: TextIO | None = None, **settings: str):
    """Run a command to its end."""
    env = {"PATH": os.environ["PATH"], "HOME": str(data_dir), "TOCSIN_DATA_DIR": str(data_dir), "REDIS_URL": "off"}
    command = [Path(sys.executable).parent / "tocsin", *words]
    return subprocess.run(
        command, env={**env, **settings}, cwd=data_dir, stdin=stdin, capture_output=True, text=True, check=False
    )


def tocsin(data_dir: Path, *words: str, **settings: str):
    """Return the status and the JSON document of a command."""
    done = run_tocsin(data_dir, *words, "--json", **settings)
    return done.returncode, json.loads(done.stdout)


def test_lines_of_a_file_are_answered_and_an_empty_device_ends_the_server(tmp_path):
    asked = tmp_path / "asked"
    asked.write_text('{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
    for source, replies in ((asked, [{"jsonrpc": "2.0", "id": 2, "result": {}}]), (Path(os.devnull), [])):
        with source.open() as stdin:
            done = run_tocsin(tmp_path, "mcp", stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        assert [json.loads(line) for line in done.stdout.splitlines()] == replies


def test_setup_and_doctor_try_the_connection_and_name_what_mcp_tools_offers_in_vain(tmp_path):
    with serve_dashboard(tmp_path) as served:
        token = tocsin(tmp_path, "tokens", "create", "web", "--scope", "read")[1]["token"]
        settings = {"DASHBOARD_PORT": served.address.rstrip("/").rpartition(":")[2], "TOCSIN_TOKEN": token}
        status, found = tocsin(tmp_path, "mcp", "setup", "claude", **settings)
        assert (status, found["problem"], found["warning"]) == (0, "", "")
        assert "list_runs" in found["tools"]
        assert f"{served.address}mcp" in found["lines"][0]
        assert token not in str(found)
        named = {"MCP_TOOLS": "list_runs,list_rnus,run_workflow"}
        assert (
            "list_rnus, run_workflow" in tocsin(tmp_path, "mcp", "setup", "claude", **settings, **named)[1]["warning"]
        )
        [check] = [
            each for each in tocsin(tmp_path, "doctor", **settings, **named)[1]["findings"] if each["subject"] == "mcp"
        ]
        assert "list_rnus, run_workflow" in str(check)
        status, found = tocsin(tmp_path, "mcp", "setup", "codex", **{**settings, "TOCSIN_TOKEN": "tcs_wrong"})
        assert (status, "token" in found["problem"]) == (1, True)
        del settings["TOCSIN_TOKEN"]
        status, found = tocsin(tmp_path, "mcp", "setup", "cursor", **settings)
        assert (status, found["problem"], "TOCSIN_TOKEN is not set" in found["warning"]) == (0, "", True)
    status, found = tocsin(tmp_path, "mcp", "setup", "codex", **settings)
    assert (status, bool(found["problem"])) == (1, True)
