"""Validate random workflow files over HTTP: `python -m tests.features.workflows.validate_fuzz --files 10000`.

Starts a dashboard of its own and sends it valid files, files changed at random, and costly ones. It exits 1 where an
answer is of the 5xx class or takes over a second, or where a file takes over a second of processor time.
"""

import argparse
import base64
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.chaos.figures import Figure, none_of
from tests.features.workflows.fuzzing import REPEATED, repeated, texts
from tests.ports import free_port
from tests.waiting import PATIENCE_S, until
from tools.proof import timed, verdict

from tocsin.features.workflows.language.reading import MAX_FILE_BYTES

USER, PASSWORD = "anna", "the password of the fuzz"
TICKS = os.sysconf("SC_CLK_TCK")
SIZES = (MAX_FILE_BYTES, MAX_FILE_BYTES // 2, MAX_FILE_BYTES // 8)


def main() -> int:
    """Run and print the figures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.features.workflows.validate_fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="how many random files to validate")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same files")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="tocsin-fuzz-") as folder, _dashboard(Path(folder)) as asks:
        costly = (repeated(*parts, size).encode()[:MAX_FILE_BYTES] for parts in REPEATED for size in SIZES)
        found = {
            "costly files": timed("costly files", lambda: _figures(asks, costly)),
            "random files": timed("random files", lambda: _figures(asks, texts(arguments.files, arguments.seed))),
        }
    return verdict(found)


class _Asks:
    """Sends files to a dashboard over one connection."""

    def __init__(self, port: int, pid: int) -> None:
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        self._headers = {"Authorization": f"Basic {login}", "Content-Type": "application/yaml"}
        self._connection = HTTPConnection("127.0.0.1", port)
        self._pid = pid

    def validate(self, text: bytes) -> tuple[str, float]:
        """Return the status, with `valid` where the file is, and the seconds that the answer took."""
        begun = time.perf_counter()
        self._connection.request("POST", "/api/workflows/fuzzed/validate", text, self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - begun
        return f"{answer.status}{' valid' if json.loads(body).get('valid') else ''}", took

    def processor_s(self) -> float:
        """Return the processor time of the service."""
        user, system = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS


def _figures(asks: _Asks, files: Iterator[bytes]) -> list[Figure]:
    statuses: Counter[str] = Counter()
    took: list[float] = []
    costs: list[float] = []
    bad: list[str] = []
    for number, text in enumerate(files):
        before = asks.processor_s()
        status, seconds = asks.validate(text)
        costs.append(asks.processor_s() - before)
        statuses[status] += 1
        took.append(seconds)
        if status >= "5":
            bad.append(f"file {number}: {status}")
    took.sort()
    return [
        Figure("files", len(took), detail=str(dict(statuses))),
        *(Figure(f"answered {status}", count) for status, count in sorted(statuses.items())),
        none_of("answers of the 5xx class", bad),
        Figure("p50 of an answer", took[len(took) // 2] * 1e3, unit="ms"),
        Figure("slowest answer", took[-1], "≤", 1, "s"),
        Figure("most processor time of a file", max(costs), "≤", 1, "s"),
        Figure("processor time of all", sum(costs), unit="s"),
    ]


@contextmanager
def _dashboard(folder: Path) -> Iterator[_Asks]:
    port = free_port()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TOCSIN_DATA_DIR": str(folder),
        "REDIS_URL": "off",
        "DASHBOARD_USER": USER,
        "DASHBOARD_PASS": PASSWORD,
        "DASHBOARD_PORT": str(port),
        "RATE_LIMIT_PER_IP": "1000000000",
        "RATE_LIMIT_PER_USER": "1000000000",
    }
    tocsin = Path(sys.executable).with_name("tocsin")
    with subprocess.Popen([tocsin, "dashboard"], env=env, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _answers(port), "the dashboard")
            asks = _Asks(port, process.pid)
            asks.validate(b"name: fuzzed\n")  # what is loaded once
            yield asks
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
