"""A file is saved in a folder of 100,000, and a skill starts."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from processes import resident_mib
from report import Row, absolute

from tocsin.features.assistant_skills.feature import FEATURE
from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
from tocsin.testing.features import open_feature

FOLDERS, FILES, SAVES = 1000, 100, 100
IDLE_S = 10.0


def measure() -> list[Row]:
    """Return the rows of watching."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_measure(Path(place)))


async def _measure(place: Path) -> list[Row]:
    project = place / "project"
    for number in range(FOLDERS):
        (project / f"d{number:03}").mkdir(parents=True)
        for file in range(FILES):
            (project / f"d{number:03}" / f"f{file}.txt").touch()
    before = resident_mib(os.getpid())
    async with open_feature(FEATURE, place / "data") as bench:
        started: asyncio.Queue[float] = asyncio.Queue()
        runner = bench.service.runner()
        run = runner.run

        async def noted(*words: object, **named: object) -> object:
            started.put_nowait(time.perf_counter())
            return await run(*words, **named)

        runner.run = noted
        watch = AssistantWatch(bench.service, [project])
        task = asyncio.create_task(watch.run())
        await watch.ready()
        used = time.process_time()
        await asyncio.sleep(IDLE_S)
        idle = (time.process_time() - used) / IDLE_S * 100
        waits = [await _save(project / f"d{number:03}" / "f1.txt", number, started, watch) for number in range(SAVES)]
        task.cancel()
        await asyncio.wait([task])
    waits.sort()
    return [
        absolute("a file of 100,000 saved to a skill started, p99", waits[int(SAVES * 0.99) - 1] * 1000, 300, "ms"),
        absolute("memory of a process that watches 100,000 files", max(before, resident_mib(os.getpid())), 60, "MiB"),
        absolute("CPU of that process while nothing changes", idle, 1, "% of a core"),
    ]


async def _save(file: Path, number: int, started: "asyncio.Queue[float]", watch: AssistantWatch) -> float:
    at = time.perf_counter()
    await asyncio.to_thread(file.write_text, f"version {number}")
    waited = await started.get() - at
    await watch.idle()
    return waited
