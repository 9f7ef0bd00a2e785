"""Many jobs at the same second, and many jobs that are not due: how fast, and how small."""

import asyncio
import resource
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tests.features.cron.conftest import Crontab, opened
from tests.waiting import eventually

from tocsin.core.ids import new_id
from tocsin.core.process.forking import forked_reapers
from tocsin.core.process.starting import run
from tocsin.core.time.clock import SystemClock
from tocsin.features.cron.store import row_of


@dataclass(frozen=True)
class Burst:
    """Jobs that were due in the same second."""

    jobs: int
    recorded_ms: float  # from the instant until all are recorded
    starts_per_s: float
    bare_starts_per_s: float


@dataclass(frozen=True)
class Idle:
    """A scheduler that has nothing to do."""

    jobs: int
    core_share: float
    more_mib: float


async def burst(folder: Path, jobs: int) -> Burst:
    """Let jobs be due in the same second; return how fast they were recorded and started."""
    env = {"PATH": "/usr/bin:/bin"}
    began = time.monotonic()
    for _ in range(100):
        await run(["/bin/sh", "-c", "true"], timeout_s=60, env=env)
    bare = 100 / (time.monotonic() - began)
    async with opened(folder, clock=SystemClock()) as crontab:
        due = float(int(time.time()) + 20)
        moment = time.strftime("at %Y-%m-%dT%H:%M:%SZ", time.gmtime(due))
        await _fill(crontab, jobs, moment, f"read -r at _ < /proc/uptime; echo $at >> {folder}/starts")
        async with forked_reapers(), _scheduling(crontab):  # as services do it
            await eventually(lambda: _has(crontab, "runs", jobs))
            recorded = time.time() - due
            await eventually(lambda: _has(crontab, "runs WHERE finished_at IS NOT NULL", jobs))
        booted = time.time() - float(Path("/proc/uptime").read_text().split()[0])
        starts = [booted + float(line) for line in (folder / "starts").read_text().split()]
        assert len(starts) == jobs
        return Burst(jobs, recorded * 1000, jobs / (max(starts) - due), bare)


async def idle(folder: Path, jobs: int, seconds: float) -> Idle:
    """Watch a scheduler with jobs that are not due."""
    async with opened(folder, clock=SystemClock()) as crontab:
        async with _scheduling(crontab):
            await asyncio.sleep(2)
            before = _resident_mib()
        await _fill(crontab, jobs, "0 3 1 1 *")
        async with _scheduling(crontab):
            await asyncio.sleep(5)
            used = time.process_time()
            await asyncio.sleep(seconds)
            share = (time.process_time() - used) / seconds
        return Idle(jobs, share, _resident_mib() - before)


class _scheduling:  # noqa: N801
    def __init__(self, crontab: Crontab) -> None:
        self._scheduler = crontab.jobs.scheduler()

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._scheduler.run())

    async def __aexit__(self, *_: object) -> None:
        self._scheduler.stop()
        with suppress(asyncio.CancelledError):
            await self._task


async def _fill(crontab: Crontab, jobs: int, schedule: str, command: str = "true") -> None:
    """Add jobs in one transaction."""
    first = await crontab.add(schedule, command, "job-0")
    rows = []
    for number in range(1, jobs):
        name = f"job-{number}"
        job = replace(first, id=new_id(), name=name, definition=replace(first.valid(), name=name))
        rows.append(row_of(replace(job, next_at=job.next_due())))
    names = ", ".join(rows[0])
    marks = ", ".join(f":{name}" for name in rows[0])

    def work(connection: object) -> None:
        connection.executemany(f"INSERT INTO cron_jobs ({names}) VALUES ({marks})", rows)  # type: ignore[attr-defined]

    await crontab.bench.app.database.write(work)


async def _has(crontab: Crontab, what: str, count: int) -> bool:
    sql = f"SELECT COUNT(*) FROM {what}"
    return await crontab.bench.app.database.read(lambda c: int(c.execute(sql).fetchone()[0]) >= count)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
