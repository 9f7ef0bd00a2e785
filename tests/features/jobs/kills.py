"""Kill a process again and again while task jobs are at work, and compare what is left of them with their records."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.features.jobs.conftest import git, open_workshop
from tests.waiting import until

from tocsin.core.time.clock import SystemClock
from tocsin.features.jobs.store import TaskJobFilter

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class JobLedger:
    """What a series of kills left behind; what `faults` counts must be 0."""

    kills: int
    cut: int  # jobs that a kill met while their branch was made or removed
    branches_without_record: int
    work_trees_without_record: int  # or what git reads in them
    states_without_record: int  # what a repository keeps of a work tree
    records_without_branch: int
    unfinished: int  # records whose branch is being made or removed
    running: int  # without a process that runs them
    records: int
    completed: int
    interrupted: int

    @property
    def faults(self) -> int:
        """How much is not as it must be."""
        return sum(count for name, count in asdict(self).items() if name not in _COUNTS)


_COUNTS = {"kills", "cut", "records", "completed", "interrupted"}
_STAYING = "SELECT COUNT(*) FROM task_jobs WHERE phase = 'ready' AND substr(title, 6) % 4 = 0"  # see the victim


async def survive_kills(folder: Path, kills: int, chance: random.Random) -> JobLedger:
    """Kill so often; return what is found after the last recovery."""
    async with open_workshop(folder, clock=SystemClock()):
        pass
    cut = sum(_one_life(folder, lambda: time.sleep(chance.uniform(0.0, 1.0))) for _ in range(kills))
    # On a slow machine, no life may have been long enough for a job so far.
    cut += _one_life(folder, lambda: until(lambda: _stays(folder), "a job that nobody deletes"))
    async with open_workshop(folder, clock=SystemClock()) as workshop:
        await workshop.jobs.recovery.recover()
        jobs = []
        cursor: str | None = ""
        while cursor is not None:
            page = await workshop.jobs.store.search(TaskJobFilter(limit=200, cursor=cursor))
            jobs, cursor = [*jobs, *page.items], page.next_cursor
        places = workshop.jobs.places
        known, states = await workshop.jobs.store.ids(), Counter(str(job.status) for job in jobs)
        heads = set(git(workshop.site, "for-each-ref", "--format=%(refname:short)", "refs/heads/job/").splitlines())
        return JobLedger(
            kills=kills + 1,
            cut=cut,
            branches_without_record=len(heads - {job.branch for job in jobs}),
            work_trees_without_record=len(
                {name for name in _names(places.worktrees) | _names(places.program.directories) if "-" in name} - known
            ),
            states_without_record=len(_names(workshop.site / ".git" / "worktrees") - known),
            records_without_branch=len({job.branch for job in jobs} - heads),
            unfinished=len(await workshop.jobs.store.unfinished()),
            running=states["running"],
            records=len(known),
            completed=states["completed"],
            interrupted=sum(job.error is not None and job.error["code"] == "interrupted" for job in jobs),
        )


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _stays(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "data" / "tocsin.db")) as connection:
        return bool(connection.execute(_STAYING).fetchone()[0])


def _one_life(folder: Path, live: Callable[[], None]) -> int:
    """Return how many jobs the life before left with a branch that was being made or removed."""
    env = {
        "PATH": os.environ["PATH"],
        "TOCSIN_DATA_DIR": str(folder / "data"),
        "JOB_REPOSITORIES": str(folder / "repos"),
        "REDIS_URL": "off",
    }
    command = [sys.executable, "-m", "tests.features.jobs.victim", "site"]
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout
    assert child.stderr
    with child.stdout, child.stderr:
        word, _, cut = child.stdout.readline().partition(b" ")
        if word != b"ready":
            raise AssertionError(child.stderr.read().decode())
        live()
        ended = child.poll()
        child.kill()
        child.wait()
        if ended is not None:
            raise AssertionError(child.stderr.read().decode())
        return int(cut)
