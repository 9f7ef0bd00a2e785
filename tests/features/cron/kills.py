"""Kill the scheduler again and again, and count what became of every planned instant."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.features.cron.conftest import HUMAN, opened
from tests.waiting import until

from tocsin.core.time.clock import SystemClock
from tocsin.runs.model import TERMINAL

ROOT = Path(__file__).parents[3]
_SQL = """
    SELECT subject_name, scheduled_for, status, id FROM runs
    WHERE kind = 'cron' AND triggered_by IN ('schedule', 'catchup')
"""


@dataclass(frozen=True)
class KillCount:
    """What a series of kills did."""

    kills: int
    planned: int
    lost: int  # planned, and without a record
    doubled: int  # with more than one record
    open: int  # with a record that has not ended
    run_twice: int  # whose command was started more than once
    untold: int  # recorded as succeeded, and never run
    interrupted: int


async def survive_kills(folder: Path, kills: int, jobs: int, chance: random.Random) -> KillCount:
    """Let `jobs` run every second while their scheduler is killed; return what is found afterwards."""
    trace = folder / "trace"
    async with opened(folder, clock=SystemClock()) as crontab:
        added = [
            await crontab.add(
                "every 1s",
                f'echo "$JOB_NAME $SCHEDULED_FOR" >> {trace}',
                f"job{number}",
                overlap="parallel",
                max_parallel=1000,
                history_limit=100_000,
            )
            for number in range(jobs)
        ]
    for _ in range(kills):
        _one_life(folder, chance.uniform(0.0, 0.7))
    _live_until_all_were_due(folder, jobs)
    async with opened(folder, clock=SystemClock()) as crontab:
        for job in added:
            await crontab.jobs.disable(job.id, HUMAN)
    child = _start(folder)
    try:
        until(lambda: _all_ended(folder), "every run to end")
    finally:
        child.kill()
        child.wait()
    async with opened(folder, clock=SystemClock()) as crontab:
        rows = await crontab.bench.app.database.read(lambda c: [tuple(row) for row in c.execute(_SQL)])
        cursors = {job.name: (job.anchor, job.cursor) for job in await crontab.jobs.store.all()}
    return _count(kills, rows, cursors, trace)


def _count(
    kills: int, rows: list[tuple[str, float, str, str]], cursors: dict[str, tuple[float, float]], trace: Path
) -> KillCount:
    records = Counter((name, round(at, 3)) for name, at, _, _ in rows)
    last = {name: max(at for other, at, _, _ in rows if other == name) for name in cursors}
    planned = {
        (name, round(anchor + n, 3))
        for name, (anchor, _) in cursors.items()
        for n in range(1, round(last[name] - anchor) + 1)
    }
    lines = Counter(trace.read_text().splitlines()) if trace.exists() else Counter()
    succeeded = sum(status == "succeeded" for _, _, status, _ in rows)
    return KillCount(
        kills=kills,
        planned=len(planned),
        lost=len(planned - set(records)),
        doubled=sum(count > 1 for count in records.values()),
        open=sum(status not in TERMINAL for _, _, status, _ in rows),
        run_twice=sum(count > 1 for count in lines.values()),
        untold=max(0, succeeded - len(lines)),
        interrupted=sum(status == "interrupted" for _, _, status, _ in rows),
    )


def _one_life(folder: Path, seconds: float) -> None:
    child = _start(folder)
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()


def _live_until_all_were_due(folder: Path, jobs: int) -> None:
    """Let the scheduler live, on a slow machine too, until every job has a record; then kill it once more."""
    child = _start(folder)
    try:
        until(lambda: _asked(folder, f"SELECT COUNT(DISTINCT subject_name) FROM ({_SQL})") == jobs, "a record of each")
    finally:
        child.kill()
        child.wait()


def _start(folder: Path) -> subprocess.Popen[bytes]:
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "TZ": "UTC"}
    command = [sys.executable, "-m", "tests.features.cron.victim"]
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout
    with child.stdout:
        child.stdout.readline()
    return child


def _all_ended(folder: Path) -> bool:
    return not _asked(folder, "SELECT COUNT(*) FROM cron_unsettled")


def _asked(folder: Path, sql: str) -> int:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])
