"""Kill the scheduler again and again, and count what became of every planned instant."""

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.features.cron.conftest import HUMAN, opened
from tests.forked import forks
from tests.waiting import until

from tocsin.core.time.clock import SystemClock
from tocsin.runs.model import TERMINAL

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
    with forks("tests.features.cron.victim", folder) as scheduler:
        for _ in range(kills):
            with scheduler(""):
                time.sleep(chance.uniform(0.0, 0.7))
        every = f"SELECT COUNT(DISTINCT subject_name) FROM ({_SQL})"
        with scheduler(""):  # on a slow machine, no job may have been due so far
            until(lambda: _asked(folder, every) == jobs, "a record of each job")
        async with opened(folder, clock=SystemClock()) as crontab:
            for job in added:
                await crontab.jobs.disable(job.id, HUMAN)
        with scheduler(""):
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


def _asked(folder: Path, sql: str) -> int:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])
