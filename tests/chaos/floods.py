"""Connections, bodies and requests without credentials, as many as a stranger likes, against a real gateway.

What is measured: whether others are answered meanwhile, and the memory of the gateway.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.chaos.figures import Figure, percentile
from tests.chaos.processes import Town, ask, wait_for

MIB = 1024 * 1024
_UPLOAD = b"POST /webhook/teamchat HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % MIB
_ASK = b"GET /channels HTTP/1.1\r\nHost: localhost\r\n\r\n"
SETTINGS = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
    "TEAMCHAT_SIGNING_SECRET": "made-up-secret",
}


def survive_floods(place: Path, *, idle: int, bodies: int, asks: int) -> list[Figure]:
    """Open idle connections, leave bodies half sent, pipeline requests; ask something else all the while."""
    with Town(place, SETTINGS, quick=False) as town:
        gateway = town.start_gateway()
        for _ in range(20):
            ask(town.port, "GET", "/channels", None, {})
        before = resident_mib(gateway.pid)
        peak, latencies = before, []
        with flooded(town.port, idle=idle, bodies=bodies):
            for _ in range(asks):
                begun = time.perf_counter()
                status, _ = ask(town.port, "GET", "/channels", None, {})
                latencies.append(time.perf_counter() - begun)
                assert status == 200, status
                peak = max(peak, resident_mib(gateway.pid))
        after = wait_for_calm(gateway.pid, before + 20)
        return [
            Figure("others that were answered", len(latencies), "=", asks),
            Figure("others were answered, p99", 1000 * percentile(latencies, 0.99), unit="ms"),
            Figure("memory when idle", before, unit="MiB"),
            Figure("memory at the peak", peak, "≤", 120, "MiB"),
            Figure("memory afterwards, more than when idle", after - before, "≤", 20, "MiB"),
        ]


@contextmanager
def flooded(port: int, *, idle: int, bodies: int) -> Iterator[None]:
    """Hold what a stranger opens; much of it is cut off by the gateway meanwhile."""
    with ExitStack() as stack:
        for number in range(idle + bodies):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            with suppress(OSError):  # cut off already
                if number >= idle:
                    connection.setblocking(False)
                    connection.send(_UPLOAD + b" " * (MIB - 1))
                elif number % 10 == 0:
                    connection.sendall(_ASK * 100)
        yield


def wait_for_calm(pid: int, enough: float) -> float:
    """Return the memory once it is down to `enough`, or the least that was seen."""
    least = [resident_mib(pid)]

    def calm() -> bool:
        least[0] = min(least[0], resident_mib(pid))
        return least[0] <= enough

    with suppress(AssertionError):
        wait_for("the memory is given back", calm)
    return least[0]


def resident_mib(pid: int) -> float:
    """Return the memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB
