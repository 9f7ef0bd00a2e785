"""POST /send under load: processor time a request, requests a second, metrics, memory, start-up."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import load
from peers import apprise_environment, core_environment
from processes import cpu_s, free_port, resident_mib, running_provider
from report import Row, absolute, at_least, at_most

from tocsin.channels.contract import Receipt, SendResult
from tocsin.web.http.metrics import Metrics

HERE = Path(__file__).resolve().parent
BODY = {"channel": "teamchat", "target": "#ops", "message": "disk 91 % full on web-3"}
WARM_UP = 2_000
ROUNDS = 3
SCRAPE_INTERVAL_S = 15.0  # what most installations of Prometheus use
Server = tuple[int, int]  # process and port


class Level(NamedTuple):
    """A number of connections, each busy all the time, and what is aimed at with them."""

    connections: int
    requests: int
    slow_requests: int  # of what Tocsin is compared with
    most_times_floor: float  # processor time; 0 where it is not compared
    least_times_apprise: float  # answers a second

    @property
    def name(self) -> str:
        """How a row names it."""
        return f"{self.connections} connection{'s' if self.connections > 1 else ''}"


LEVELS = (Level(64, 20_000, 2_000, 1.8, 9), Level(16, 5_000, 1_000, 0, 7), Level(1, 3_000, 500, 2.2, 4))


class _Round(NamedTuple):
    cpu_s: float  # a request
    rate: float  # answers a second
    errors: int


def measure() -> list[Row]:
    """Run everything against one provider and return the rows."""
    with running_provider() as provider, tempfile.TemporaryDirectory() as data_dir:
        url = f"http://127.0.0.1:{provider}"
        environment = {
            "TOCSIN_DATA_DIR": data_dir,
            "TEAMCHAT_BOT_TOKEN": "xoxb-benchmark-benchmark",
            "TEAMCHAT_API_URL": url,
            "RATE_LIMIT_PER_IP": "1000000000",
        }
        core = core_environment()  # before the clock starts: it installs the checkout
        ours, floor, apprise = free_port(), free_port(), free_port()
        started = time.perf_counter()
        with _server([str(core / "tocsin"), "gateway"], ours, environment | {"GATEWAY_PORT": str(ours)}) as us:
            healthy_s = time.perf_counter() - started
            idle_mib = resident_mib(us.pid)
            with (
                _server([sys.executable, str(HERE / "servers.py"), "floor", str(floor), url], floor, {}) as bare,
                _server(
                    [
                        str(apprise_environment() / "python"),
                        str(HERE / "servers.py"),
                        "apprise",
                        str(apprise),
                        url,
                    ],
                    apprise,
                    {},
                ) as other,
            ):
                return [
                    *_compare(provider, (us.pid, ours), (bare.pid, floor), (other.pid, apprise)),
                    _metrics_share(us.pid, ours),
                    absolute("gateway memory, idle", idle_mib, 60, "MiB"),
                    absolute("gateway, start to healthy", healthy_s, 2, "s"),
                ]


def _compare(provider: int, us: Server, bare: Server, other: Server) -> list[Row]:
    for _, port in (us, bare, other):
        asyncio.run(load.run(port, BODY, requests=WARM_UP if port != other[1] else 200))
    errors = extra = 0
    rows: list[Row] = []
    for level in LEVELS:
        ratios: list[tuple[_Round, _Round, _Round]] = []
        for _ in range(ROUNDS):
            before = _messages(provider)
            ours = _round(us, level.requests, level.connections)
            extra += abs(_messages(provider) - before - level.requests)
            floor = _round(bare, level.requests, level.connections)
            ratios.append((ours, floor, _round(other, level.slow_requests, level.connections)))
            errors += ours.errors
        rows += _rows(level, ratios)
    rows.append(absolute("POST /send, errors", errors, 0, ""))
    rows.append(absolute("POST /send, provider requests too many or too few", extra, 0, ""))
    return rows


def _rows(level: "Level", rounds: Sequence[tuple["_Round", "_Round", "_Round"]]) -> Iterator[Row]:
    """Yield the rows of the middle rounds."""
    ours, floor, _ = sorted(rounds, key=lambda each: each[0].cpu_s / each[1].cpu_s)[len(rounds) // 2]
    if level.most_times_floor:
        yield at_most(
            f"POST /send, processor time a request, {level.name}",
            ours.cpu_s * 1e6,
            floor.cpu_s * 1e6,
            level.most_times_floor,
            "µs",
            "bare ASGI + aiohttp",
        )
    ours, _, other = sorted(rounds, key=lambda each: each[0].rate / each[2].rate)[len(rounds) // 2]
    yield at_least(
        f"POST /send, {level.name}", ours.rate, other.rate, level.least_times_apprise, "/s", "Apprise library"
    )


def _metrics_share(pid: int, port: int) -> Row:
    """Measure what metrics take of a processor under load: counting each request, and a scrape each 15 s.

    The queue then has what the loads before have sent. The stores are read at most every 5 s, so each scrape waits
    longer.
    """
    idle, _ = _busy(pid, lambda: None)
    scraping, scrapes = _busy(pid, lambda: _read(f"http://127.0.0.1:{port}/metrics"))
    scrape_s = max(0.0, scraping - idle) / scrapes
    before = cpu_s(pid)
    result = asyncio.run(load.run(port, BODY, requests=5_000, connections=64))
    request_s = (cpu_s(pid) - before) / result.answered
    share = scrape_s / SCRAPE_INTERVAL_S + _counting_s() / request_s
    return absolute("metrics under load, share of a processor", 100 * share, 2, "%")


def _busy(pid: int, work: Callable[[], object]) -> tuple[float, int]:
    """Return the processor time of a process while `work` is done five times, 5.2 s apart."""
    before = _busy_ns(pid)
    for _ in range(5):
        work()
        time.sleep(5.2)
    return (_busy_ns(pid) - before) / 1e9, 5


def _busy_ns(pid: int) -> int:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def _counting_s() -> float:
    """Return how long it takes to count one request and its send."""
    metrics = Metrics()
    receipt = Receipt(SendResult(True, "teamchat", "#ops", message="ts=1"), 1, 1, 1, 5)
    calls = 20_000
    started = time.process_time()
    for _ in range(calls):
        metrics.count_request("/send", 200)
        metrics.count_send(receipt)
    return (time.process_time() - started) / calls


def _read(url: str) -> bytes:
    with urlopen(url) as answer:
        found: bytes = answer.read()
        return found


def _round(server: Server, requests: int, connections: int) -> "_Round":
    """Measure one load."""
    pid, port = server
    before = cpu_s(pid)
    result = asyncio.run(load.run(port, BODY, requests=requests, connections=connections))
    return _Round((cpu_s(pid) - before) / requests, result.answered / result.seconds, result.errors)


def _messages(provider: int) -> int:
    with urlopen(f"http://127.0.0.1:{provider}/count") as answer:
        return int(answer.read())


@contextmanager
def _server(argv: list[str], port: int, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until it accepts, and stop it at the end."""
    with subprocess.Popen(argv, env={**os.environ, **environment}, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield process
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    for _ in range(1000):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                if connection.recv(1):
                    return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"nothing listens on port {port}")
