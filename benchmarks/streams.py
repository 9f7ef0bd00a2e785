"""Live updates: a thousand open streams in one process, and how soon all of them have an event."""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

from processes import cpu_s, resident_mib
from report import Row, absolute

READERS, EVENTS = 1_000, 20
PATH = "/api/jobs/stream/updates?topics=notifications,cron,status"


def measure() -> list[Row]:
    """Return the rows; takes about 20 s."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        command = [sys.executable, __file__, folder]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            port = int(server.stdout.readline())
            before = resident_mib(server.pid)
            to_all_ms, with_readers, each_s = asyncio.run(_measure(Path(folder), port, server.pid))
        finally:
            server.terminate()
            began = time.monotonic()
            server.wait(30)
            ended_s = time.monotonic() - began
    return [
        absolute(
            f"memory of a dashboard with {READERS:,} open streams ({before:.0f} MiB without)", with_readers, 250, "MiB"
        ),
        absolute(
            "a change by another process, until the last of them has it, p50", statistics.median(to_all_ms), 250, "ms"
        ),
        absolute("… the slowest of 20", max(to_all_ms), 250, "ms"),
        absolute("processor time of that in the dashboard, each event", each_s * 1e3, 250, "ms"),
        absolute("SIGTERM until the process has ended, with all streams open", ended_s, 5, "s"),
    ]


async def _measure(folder: Path, port: int, pid: int) -> tuple[list[float], float, float]:
    from tocsin.core.time.clock import SystemClock
    from tocsin.features.context import Notice
    from tocsin.features.notifications.feature import FEATURE
    from tocsin.testing.features import open_feature

    connections = []
    for _ in range(READERS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await reader.readuntil(b"retry: 2000\n")
        await reader.readuntil(b"\n\n\r\n")
        connections.append((reader, writer))
    memory = resident_mib(pid)
    times, cpu_before = [], cpu_s(pid)
    async with open_feature(FEATURE, folder, clock=SystemClock()) as bench:
        for number in range(EVENTS):
            waiting = [asyncio.create_task(reader.readuntil(b"}\n\n\r\n")) for reader, _ in connections]
            await asyncio.sleep(0.3 + number % 10 / 100)
            began = time.perf_counter()
            await bench.service.service.create(Notice(f"notice {number}", "x" * 200))
            pieces = await asyncio.gather(*waiting)
            times.append((time.perf_counter() - began) * 1e3)
            assert all(json.loads(piece.split(b"data: ")[1].split(b"\n")[0])["title"] for piece in pieces)
    each_s = (cpu_s(pid) - cpu_before) / EVENTS
    return times, max(memory, resident_mib(pid)), each_s


def _serve(folder: Path) -> None:
    """Serve the dashboard of a data directory without a login, until a signal."""
    from tocsin.assembly.full.dashboard import create_dashboard
    from tocsin.assembly.full.live import event_hub
    from tocsin.assembly.light import load_settings
    from tocsin.assembly.program import direct_transport, open_app
    from tocsin.cli.commands.services import run_on_uvloop
    from tocsin.core.scopes import ALL_SCOPES
    from tocsin.web.http.serving import Service, serve

    environ = {"TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "RATE_LIMIT_PER_USER": "1000000"}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))

    numbers = count()

    def trusting(app: Any) -> Callable[..., Awaitable[None]]:
        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            user = f"reader {next(numbers)}"  # one of them may not have a thousand streams
            await app({**scope, "tocsin.user": user, "tocsin.scopes": ALL_SCOPES}, receive, send)

        return guarded

    async def main() -> None:
        async with open_app(settings, installed, direct_transport) as app, asyncio.TaskGroup() as group:
            hub = event_hub(app)
            service = Service(
                "the dashboard",
                "127.0.0.1",
                0,
                "",
                lambda draining: create_dashboard(app, draining, trusting, hub),
                max_connections=2 * READERS,
                max_per_address=2 * READERS,
            )
            group.create_task(hub.run())
            await serve(
                [service], ready=lambda at: print(at["the dashboard"].rpartition(":")[2], flush=True), stopping=hub.stop
            )

    run_on_uvloop(main())


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * READERS), hard))
    _serve(Path(sys.argv[1]))
