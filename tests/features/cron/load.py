"""Many jobs at the same second, spread over a minute, and not due at all: how fast, how late and how small."""

import asyncio
import resource
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from tests.chaos.figures import Figure, percentile
from tests.features.cron.conftest import Crontab, opened

from tocsin.core.ids import new_id
from tocsin.core.process.forking import forked_reapers
from tocsin.core.time.clock import SystemClock
from tocsin.features.cron.store import row_of

_BARE_STARTS = 100  # before each burst, and after it
_FILL_S = 5.0


class _Round(NamedTuple):
    recorded_ms: float  # from the instant until all are recorded
    starts_per_s: float
    bare_starts_per_s: float


def start_at_once(place: Path, jobs: int, rounds: int) -> list[Figure]:
    """Let jobs be due in the same second, between starts of the same command by hand, one after the other."""
    found = [_as_services_do(_burst(place / str(number), jobs)) for number in range(rounds)]
    shares = sorted(each.starts_per_s / each.bare_starts_per_s for each in found)
    rates = ", ".join(f"{each.starts_per_s:.0f} of {each.bare_starts_per_s:.0f}/s" for each in found)
    recorded = statistics.median(each.recorded_ms for each in found)
    return [
        Figure(f"{jobs} jobs of the same second, all recorded after", recorded, "≤", 250, "ms"),
        Figure("… started at that share of bare process starts", statistics.median(shares), "≥", 0.5, detail=rates),
        Figure("… in the worst of the rounds", shares[0], detail=f"{rounds} rounds"),
    ]


def start_in_time(place: Path, jobs: int) -> list[Figure]:
    """Spread jobs over a minute; a command is late by when it says that it runs."""
    late = sorted(_as_services_do(_spread(place, jobs)))
    return [Figure(f"{jobs} jobs over a minute, lateness p99", 1000 * percentile(late, 0.99), "≤", 250, "ms")]


def wait_for_nothing(place: Path, jobs: int, seconds: float) -> list[Figure]:
    """Watch a scheduler with jobs that are not due."""
    share, more = _as_services_do(_idle(place, jobs, seconds))
    return [
        Figure(f"scheduler with {jobs:,} jobs that are not due", 100 * share, "≤", 1, "% of a processor"),
        Figure("… memory more than without them", more, "≤", 40, "MiB"),
    ]


def _as_services_do(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _burst(folder: Path, jobs: int) -> _Round:
    folder.mkdir()
    took = _bare_starts(folder)
    async with opened(folder, clock=SystemClock()) as crontab:
        due = float(int(time.time() + _FILL_S))
        await _fill(crontab, [_at(due)] * jobs, _said(folder / "starts"))
        async with _scheduling(crontab):
            await _until(crontab, "SELECT COUNT(*) FROM runs", jobs, 0.005)
            recorded = time.time() - due
            await _until(crontab, "SELECT COUNT(*) FROM runs WHERE finished_at IS NOT NULL", jobs, 0.1)
    took += _bare_starts(folder)
    starts = [sum(map(float, line.split())) for line in (folder / "starts").read_text().splitlines()]
    assert len(starts) == jobs
    return _Round(recorded * 1000, jobs / (max(starts) - due), 2 * _BARE_STARTS / took)


def _bare_starts(folder: Path) -> float:
    """Return how long it takes to start the command of the jobs by hand."""
    began = time.monotonic()
    for _ in range(_BARE_STARTS):
        subprocess.run(["/bin/sh", "-c", _said(folder / "bare")], env={"PATH": "/usr/bin:/bin"}, check=True)
    return time.monotonic() - began


async def _spread(folder: Path, jobs: int) -> list[float]:
    async with opened(folder, clock=SystemClock()) as crontab:
        first = float(int(time.time() + _FILL_S))
        moments = [first + number * 60 / jobs for number in range(jobs)]
        await _fill(crontab, [_at(float(int(moment))) for moment in moments], f"date +%s.%N >> {folder}/$JOB_NAME")
        async with _scheduling(crontab):
            await _until(crontab, "SELECT COUNT(*) FROM runs WHERE finished_at IS NOT NULL", jobs, 1.0)
    return [float((folder / f"job-{number}").read_text()) - int(moment) for number, moment in enumerate(moments)]


async def _idle(folder: Path, jobs: int, seconds: float) -> tuple[float, float]:
    async with opened(folder, clock=SystemClock()) as crontab:
        async with _scheduling(crontab):
            await asyncio.sleep(2)
            before = _resident_mib()
        await _fill(crontab, ["0 3 1 1 *"] * jobs, "true")
        async with _scheduling(crontab):
            await asyncio.sleep(5)
            used = time.process_time()
            await asyncio.sleep(seconds)
            share = (time.process_time() - used) / seconds
        return share, _resident_mib() - before


@asynccontextmanager
async def _scheduling(crontab: Crontab) -> AsyncIterator[None]:
    scheduler = crontab.jobs.scheduler()
    async with forked_reapers():
        task = asyncio.create_task(scheduler.run())
        try:
            yield
        finally:
            scheduler.stop()
            with suppress(asyncio.CancelledError):
                await task


async def _fill(crontab: Crontab, schedules: list[str], command: str) -> None:
    """Add a job for each schedule in one transaction."""
    first = await crontab.add(schedules[0], command, "job-0")
    rows = []
    for number, schedule in enumerate(schedules[1:], 1):
        name = f"job-{number}"
        job = replace(first, id=new_id(), name=name, definition=replace(first.valid(), name=name, schedule=schedule))
        rows.append(row_of(replace(job, next_at=job.next_due())))
    names = ", ".join(rows[0])
    marks = ", ".join(f":{name}" for name in rows[0])

    def work(connection: object) -> None:
        connection.executemany(f"INSERT INTO cron_jobs ({names}) VALUES ({marks})", rows)  # type: ignore[attr-defined]

    await crontab.bench.app.database.write(work)


async def _until(crontab: Crontab, sql: str, count: int, every_s: float) -> None:
    """Look now and then: each look takes time from what is measured."""
    while True:
        if await crontab.bench.app.database.read(lambda c: int(c.execute(sql).fetchone()[0])) >= count:
            return
        await asyncio.sleep(every_s)


def _at(moment: float) -> str:
    return time.strftime("at %Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _said(file: Path) -> str:
    """Return a command that notes when it runs, and takes next to no time."""
    booted = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    return f"read -r up _ < /proc/uptime; echo {booted:.2f} $up >> {file}"


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
