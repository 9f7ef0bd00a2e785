"""Runs at full size: 1 GB of output, and how soon a line is seen in another process.

By how much the memory of the process that runs the command grows, and the time from the printing of a line to its
arrival at `tocsin runs log -f`, for a log that is still in its first quarter and for one beyond it.
"""

import asyncio
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from report import Row, absolute

from tocsin.assembly.light import find_installed
from tocsin.assembly.storage import schemas
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.runs.model import Command, RunSpec, RunTrigger
from tocsin.runs.recorder import command
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs

SIZE, LINES = 1_000_000_000, 100
TOCSIN = Path(sysconfig.get_path("scripts")) / "tocsin"
PRINTER = """
import sys, time
sys.stdout.write("filler\\n" * int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    time.sleep(0.15)
    print(f"{time.time():.6f}", flush=True)
"""


def order() -> RunSpec:
    """Return the order of a run."""
    return RunSpec("job", "benchmark", "benchmark", RunTrigger.MANUAL)


async def growth(runs: Runs, size: int) -> float:
    """Return by how many MiB a run of `size` bytes raises the peak of this process."""
    environment = {"PATH": os.environ["PATH"]}
    line = "a line of output, as programs print them"
    await runs.execute(order(), command(Command(("sh", "-c", f"yes '{line}' | head -c 4000000"), environment)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = await runs.execute(order(), command(Command(("sh", "-c", f"yes '{line}' | head -c {size}"), environment)))
    assert run.output.bytes == size
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return grown / (1024 if sys.platform == "linux" else 1024**2)


async def delays(runs: Runs, data_dir: Path, filler: int) -> list[float]:
    """Return the milliseconds from printing to seeing, sorted."""
    printer = Command((sys.executable, "-c", PRINTER, str(filler), str(LINES)), {"PATH": os.environ["PATH"]})
    running = await runs.start(order(), command(printer))
    environment = {**os.environ, "TOCSIN_DATA_DIR": str(data_dir)}
    follow = (TOCSIN, "runs", "log", "-f", "-n", "1", "--stream", "stdout", running.run.id)
    follower = await asyncio.create_subprocess_exec(*follow, env=environment, stdout=subprocess.PIPE)
    assert follower.stdout is not None
    seen = [1000 * (time.time() - float(line)) async for line in follower.stdout if line.strip() != b"filler"]
    await follower.wait()
    await running.wait()
    return sorted(seen[10:])  # the first ones were printed while the follower started


async def measured() -> list[Row]:
    """Return the rows; takes a minute."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir, clock = Path(folder), SystemClock()
        database = Database(data_dir / "tocsin.db", schemas(find_installed().features))
        runs = Runs(sqlite_runs(database), data_dir / "runs", clock, Presence(SqliteBeats(database), clock))
        grown = await growth(runs, SIZE)
        head, tail = await delays(runs, data_dir, 0), await delays(runs, data_dir, 20_000)
        await runs.aclose()
        await database.aclose()
    return [
        absolute("memory that a run of 1 GB of output takes", grown, 20, "MiB"),
        absolute("a printed line seen in `runs log -f`, p99", head[int(len(head) * 0.99)], 300, "ms"),
        absolute("… in a log beyond its first quarter, p99", tail[int(len(tail) * 0.99)], 300, "ms"),
    ]


def measure() -> list[Row]:
    """Return the rows of this part."""
    return asyncio.run(measured())
