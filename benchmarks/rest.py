"""The dashboard's REST API: lists of many runs, the status, what a send costs beside the gateway's, memory, start."""

import asyncio
import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import load
from processes import cpu_s, free_port, resident_mib, running_provider
from report import Row, absolute, at_most

TOCSIN = Path(sys.executable).with_name("tocsin")
USER, PASSWORD = "anna", "the password of the benchmark"
LOGIN = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
RUNS, LISTS, STATUSES = 10_000, 1_000, 40
SENDS, WARM_UP, ROUNDS = 3_000, 500, 5
BODY = {"channel": "teamchat", "target": "#ops", "message": "disk 91 % full on web-3"}


class _Start(NamedTuple):
    pid: int
    ready_s: float  # how long it took until the dashboard was ready
    cpu_s: float


def measure() -> list[Row]:
    """Return the rows; takes about a minute."""
    with running_provider() as provider:
        return [*_alone(), *_everything(provider)]


def _alone() -> list[Row]:
    """Measure a dashboard of its own with many runs."""
    port = free_port()
    ports = {"DASHBOARD_PORT": str(port)}
    empty = tempfile.TemporaryDirectory(prefix="tocsin-bench-")
    with empty as folder, _started(["dashboard"], folder, ports, port) as start:
        idle = resident_mib(start.pid)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        asyncio.run(_store_runs(Path(folder)))
        with _started(["dashboard"], folder, ports, port) as start:
            before = cpu_s(start.pid)
            lists = sorted(_asked(port, "/api/runs?limit=50", LISTS))
            cpu_ms = (cpu_s(start.pid) - before) / LISTS * 1e3
            fresh = sorted(_asked(port, "/api/status?refresh=true", STATUSES))
    return [
        absolute("dashboard alone, memory, idle", idle, 90, "MiB"),
        absolute(f"a list of 50 of {RUNS:,} runs, p50", lists[len(lists) // 2], 5, "ms"),
        absolute("… p99", lists[len(lists) * 99 // 100], 30, "ms"),
        absolute("… processor time", cpu_ms, 5, "ms"),
        absolute("GET /api/status, uncached, p50", fresh[len(fresh) // 2], 50, "ms"),
        absolute("… p95", fresh[len(fresh) * 95 // 100], 50, "ms"),
    ]


def _everything(provider: int) -> list[Row]:
    """Measure `up`, in which gateway and dashboard share a process and the connections to the provider."""
    gateway, dashboard = free_port(), free_port()
    ports = {"GATEWAY_PORT": str(gateway), "DASHBOARD_PORT": str(dashboard)}
    channel = {"TEAMCHAT_BOT_TOKEN": "xoxb-benchmark-benchmark", "TEAMCHAT_API_URL": f"http://127.0.0.1:{provider}"}
    with (
        tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder,
        _started(["up"], folder, {**ports, **channel}, dashboard) as start,
    ):
        pid, idle = start.pid, resident_mib(start.pid)
        doors = {"gateway": (gateway, "/send", ""), "dashboard": (dashboard, "/api/msg/send", LOGIN)}
        costs: dict[str, list[float]] = {name: [] for name in doors}
        for number in range(ROUNDS + 1):  # in turn, so that a drift of the machine meets both; the first warms up
            for name, (port, path, login) in doors.items():
                requests = SENDS if number else WARM_UP
                before = cpu_s(pid)
                done = asyncio.run(load.run(port, BODY, path=path, authorization=login, requests=requests))
                assert not done.errors, done
                if number:
                    costs[name].append((cpu_s(pid) - before) / requests * 1e6)
    ours, other = statistics.median(costs["dashboard"]), statistics.median(costs["gateway"])
    return [
        absolute("`up` with everything, start to ready", start.ready_s, 2, "s"),
        absolute("… processor time", start.cpu_s, 2, "s"),
        absolute("… memory, idle", idle, 130, "MiB"),
        at_most("POST /api/msg/send, processor time a request", ours, other, 1.3, "µs", "POST /send"),
    ]


async def _store_runs(folder: Path) -> None:
    from tocsin.features.notifications.feature import FEATURE
    from tocsin.runs.model import RunSpec, RunStatus, new_run
    from tocsin.runs.sqlite.records import sqlite_runs
    from tocsin.testing.features import open_feature

    async with open_feature(FEATURE, folder) as bench:
        store = sqlite_runs(bench.app.stores.database)
        for number in range(RUNS):
            name = f"job {number % 20}"
            order = RunSpec("cron", name, name, "schedule", "scheduler", {"number": number})
            await store.add(new_run(order, RunStatus.SKIPPED, time.time() - RUNS + number), "no-owner")


def _asked(port: int, path: str, times: int) -> list[float]:
    """Return the milliseconds of each of `count` requests over one connection, one after the other."""
    found = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {LOGIN}\r\n\r\n".encode()
        for number in range(times + 20):
            began = time.perf_counter()
            connection.sendall(request)
            _read_answer(connection)
            if number >= 20:  # the first ones warm up
                found.append((time.perf_counter() - began) * 1e3)
    return found


def _read_answer(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 20)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0], received
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    while len(body) < length:
        body += connection.recv(1 << 20)
    return body


@contextmanager
def _started(words: list[str], folder: str, settings: Mapping[str, str], port: int) -> Iterator[_Start]:
    """Start the command, and yield its process once it has been ready for a while."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "TOCSIN_DATA_DIR": folder,
        "REDIS_URL": "off",
        "DASHBOARD_USER": USER,
        "DASHBOARD_PASS": PASSWORD,
        "RATE_LIMIT_PER_IP": "1000000000",
        "RATE_LIMIT_PER_USER": "1000000000",
        **settings,
    }
    began = time.perf_counter()
    with subprocess.Popen([TOCSIN, *words], env=env, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            start = _Start(process.pid, time.perf_counter() - began, cpu_s(process.pid))
            _wait_for(port, "/api/status", LOGIN)
            time.sleep(3)  # what is done once at the start is done
            yield start
        finally:
            process.terminate()


def _wait_for(port: int, path: str = "/api/health", login: str = "") -> None:
    request = Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": login} if login else {})
    for _ in range(3_000):
        try:
            with urlopen(request, timeout=10) as answer:
                json.loads(answer.read())
                return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"nothing listens on port {port}")
