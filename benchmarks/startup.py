"""Commands from start to exit, pair by pair, beside the `apprise` command; and the size of an installation."""

import os
import statistics
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from peers import apprise_environment, core_environment
from report import Row, absolute, at_most

PAIRS = 21


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"ok":true,"channel":"C1","ts":"1503435956.000247"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def measure() -> list[Row]:
    """Return the rows of start-up and size."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    apprise, tocsin = str(apprise_environment() / "apprise"), str(core_environment() / "tocsin")
    with tempfile.TemporaryDirectory() as data_dir:
        environment = {
            **os.environ,
            "TOCSIN_DATA_DIR": data_dir,
            "TEAMCHAT_BOT_TOKEN": "xoxb-benchmark-benchmark",
            "TEAMCHAT_API_URL": f"http://127.0.0.1:{port}",
        }
        send = _pairs(
            [tocsin, "send", "teamchat", "#ops", "hi"],
            [apprise, "-b", "hi", f"json://127.0.0.1:{port}"],
            environment,
        )
        listing = _pairs([tocsin, "channels"], [apprise, "--version"], environment)
    server.shutdown()
    return [
        at_most("`tocsin send`, start to exit", *send, 0.5, "ms", "`apprise`"),
        at_most("`tocsin channels`, start to exit", *listing, 0.35, "ms", "`apprise --version`"),
        absolute("core installation", _size_mb(core_environment().parent), 90, "MB"),
    ]


def _pairs(ours: list[str], other: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return both median times in milliseconds; run in turn, so that a drift of the machine meets both."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(PAIRS + 1):
        for argv, into in zip((ours, other), times, strict=True):
            started = time.perf_counter()
            subprocess.run(argv, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if number:  # the first pair warms the caches
                into.append((time.perf_counter() - started) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def _size_mb(home: Path) -> float:
    """Return what the packages take on disk, bytecode included, without pip and setuptools."""
    packages = next(home.glob("lib/python*/site-packages"))
    skipped = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}
    files = (
        f
        for d in packages.iterdir()
        if d.name.partition("-")[0] not in skipped
        for f in ([d] if d.is_file() else d.rglob("*"))
    )
    return sum(f.stat().st_size for f in files if f.is_file()) / 1e6
