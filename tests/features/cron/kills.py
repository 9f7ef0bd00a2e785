"""Kill the scheduler again and again, and count what became of every planned instant."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
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
    with _schedulers(folder) as scheduler:
        for _ in range(kills):
            with scheduler():
                time.sleep(chance.uniform(0.0, 0.7))
        every = f"SELECT COUNT(DISTINCT subject_name) FROM ({_SQL})"
        with scheduler():  # on a slow machine, no job may have been due so far
            until(lambda: _asked(folder, every) == jobs, "a record of each job")
        async with opened(folder, clock=SystemClock()) as crontab:
            for job in added:
                await crontab.jobs.disable(job.id, HUMAN)
        with scheduler():
            until(lambda: not _asked(folder, "SELECT COUNT(*) FROM run_tasks"), "every run to end")
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


@contextmanager
def _schedulers(folder: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Yield what runs a scheduler in a process of its own during a block, and kills it at the end."""
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "TZ": "UTC"}
    command = [sys.executable, "-m", "tests.features.cron.victim"]
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    ) as maker:
        assert maker.stdin
        assert maker.stdout
        orders, told = maker.stdin, maker.stdout

        @contextmanager
        def scheduler() -> Iterator[None]:
            orders.write(b"\n")
            pid = int(told.readline())
            try:
                yield
            finally:
                os.kill(pid, signal.SIGKILL)
                assert told.readline() == b"\n"

        yield scheduler


def _asked(folder: Path, sql: str) -> int:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])
