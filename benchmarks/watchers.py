"""A file changes in a folder of 100,000, and a command starts; then 5,000 files come at once."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from processes import resident_mib
from report import Row, absolute

from tocsin.core.time.clock import SystemClock
from tocsin.features.watchers.feature import FEATURE
from tocsin.features.watchers.work import service_of
from tocsin.testing.features import open_feature

FOLDERS, FILES, SAVES, BURST = 1000, 100, 200, 5000
DEBOUNCE_MS = 500
RULE = "- {{name: all, path: {folder}, debounce_ms: {debounce}, command: 'echo \"$1\" > {pipe}'}}\n"


def measure() -> list[Row]:
    """Return the rows of watchers."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_measure(Path(place)))


class Started:
    """What the commands write as soon as they start."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self._fd = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # also open for writing: it never ends
        self._rest = b""
        self.paths: list[str] = []
        self.at: dict[str, float] = {}
        self.came = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def _read(self) -> None:
        now = time.perf_counter()
        *lines, self._rest = (self._rest + os.read(self._fd, 65536)).split(b"\n")
        for line in lines:
            self.paths.append(line.decode())
            self.at.setdefault(line.decode(), now)
        self.came.set()

    async def until(self, count: int) -> None:
        while len(self.paths) < count:
            self.came.clear()
            await self.came.wait()


async def _measure(place: Path) -> list[Row]:
    folder = place / "watched"
    for number in range(FOLDERS):
        (folder / f"d{number:03}").mkdir(parents=True)
        for file in range(FILES):
            (folder / f"d{number:03}" / f"f{file}.txt").touch()
    (place / "data").mkdir()
    started = Started(place / "pipe")
    async with open_feature(FEATURE, place / "data", clock=SystemClock()) as bench:
        rule = RULE.format(folder=folder, debounce=DEBOUNCE_MS, pipe=place / "pipe")
        bench.service.rules.path.write_text(rule)
        service = service_of(bench.service)
        task = asyncio.create_task(service.run())
        while [record.state for record in await bench.service.list_rules()] != ["watching"]:  # noqa: ASYNC110  # tables
            await asyncio.sleep(0.1)
        waits = []
        for number in range(SAVES):
            path = folder / f"d{number:03}" / "f1.txt"
            at = time.perf_counter()
            path.write_text(f"version {number}")
            await started.until(number + 1)
            waits.append((started.at[str(path)] - at) * 1000 - DEBOUNCE_MS)
        waits.sort()
        before = resident_mib(os.getpid())
        _reset_peak()
        files = {str(folder / f"d{n % FOLDERS:03}" / f"new{n}") for n in range(BURST)}
        began = time.perf_counter()
        await asyncio.to_thread(_make, files)
        made = time.perf_counter() - began
        await started.until(SAVES + BURST)
        took, grown = time.perf_counter() - began, _peak_mib() - before
        lost = len(files - set(started.paths))
        service.stop()
        await task
    print(f"5,000 files made in {made:.1f} s, acted on in {took:.0f} s; p50 {waits[SAVES // 2]:.0f} ms")
    return [
        absolute("a file of 100,000 changed to a command started, less the debounce, p99",
                 waits[int(SAVES * 0.99) - 1], 300, "ms"),
        absolute("of 5,000 files made at once, not acted on", lost, 0, "files"),
        absolute("memory that they take", grown, 20, "MiB"),
    ]  # fmt: skip


def _make(files: set[str]) -> None:
    for path in files:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
