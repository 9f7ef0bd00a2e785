"""Kill what executes runs of many kinds again and again, and count what became of each run."""

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.forked import forks
from tests.waiting import until

from tocsin.core.audit.log import AuditLog
from tocsin.core.time.clock import SystemClock
from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.features.cron.service import Actor
from tocsin.runs.model import TERMINAL
from tocsin.testing.features import open_feature

ENDS = {"workflow.run", "cron.execute", "skill.run", "ssh.run", "job.complete", "watcher.run"}
_ACTIVE = "SELECT COUNT(*) FROM runs WHERE finished_at IS NULL"
_TOLD = 'echo "$RUN_ID $STEP $ATTEMPT" >> TRACE'
_FLOWS = {
    "asks": f"""
overlap: parallel
steps:
  - {{name: first, command: '{_TOLD}'}}
  - {{name: ask, type: wait, approval: true}}
  - {{name: last, command: '{_TOLD}'}}
on_finish:
  - {{name: finish, command: '{_TOLD}'}}
""",
    "queued": f"overlap: queue\nsteps:\n  - {{name: only, command: '{_TOLD}; sleep 0.05'}}\n",
    "pauses": f"""
overlap: parallel
steps:
  - {{name: again, command: '{_TOLD}; [ $ATTEMPT = 2 ]', retry: {{max_attempts: 2, delay: 1s}}}}
  - {{name: pause, type: wait, duration: 1s}}
  - {{name: last, command: '{_TOLD}', on_interrupt: retry}}
""",
    "outer": "overlap: parallel\nsteps:\n  - {name: inner, type: workflow, command: asks}\n",
}


@dataclass(frozen=True)
class KillCount:
    """What a series of kills did."""

    kills: int
    runs: int
    kinds: int
    interrupted: int
    lost: int  # not ended, or not settled
    twice: int  # steps and commands that were executed twice
    unreported: int  # ended without an audit entry
    reported_twice: int
    not_retried: int  # failed first attempts of the cron job without a second one


async def survive_kills(folder: Path, kills: int, chance: random.Random) -> KillCount:
    """Start runs in a process that is killed again and again; return what is found afterwards."""
    await _prepare(folder)
    with forks("tests.runs.victim", folder) as process:
        for _ in range(kills):
            with process(""):
                time.sleep(chance.uniform(0.1, 1.5))
        with process("drain"):
            while left := _asked(folder, _ACTIVE):  # some hundred wait for their turn
                until(lambda left=left: _asked(folder, _ACTIVE) < left, "a run to end")
            until(lambda: not _asked(folder, "SELECT COUNT(*) FROM run_tasks"), "every run to be settled")
    return _count(folder, kills)


async def _prepare(folder: Path) -> None:
    for path in (folder / "workflows", folder / "skills" / "it", folder / "watched", folder / "ssh"):
        path.mkdir(mode=0o700, parents=True)
    for name, text in _FLOWS.items():
        _write(folder / "workflows" / f"{name}.yaml", f"name: {name}\n{text}".replace("TRACE", str(folder / "trace")))
    told = f"echo $$ skill 1 >> {folder}/trace"
    _write(folder / "skills" / "it" / "skill.yaml", f"name: it\ndescription: Does it.\ncommand: '{told}'\n")
    (folder / "watched" / "a.txt").touch()
    rule = f"path: {folder}/watched, action: shell, command: 'echo $RUN_ID watcher 1 >> {folder}/trace'"
    _write(folder / "watchers.yaml", f"- {{name: files, {rule}}}\n")
    _write(folder / "ssh_hosts.yaml", "hosts: [{name: nowhere, hostname: 127.0.0.1, port: 1}]\n")
    async with open_feature(CRON, folder, {"TZ": "UTC"}, clock=SystemClock()) as bench:
        common = {"schedule": "@yearly", "overlap": "parallel", "max_parallel": 1000, "history_limit": 100_000}
        told = f"echo $RUN_ID cron 1 >> {folder}/trace; exit 1"
        fails = {"name": "fails", "command": told, "retry": {"max_attempts": 2, "delay_seconds": 1}, **common}
        await bench.service.add(fails, Actor("cli"))
        await bench.service.add({"name": "flow", "type": "workflow", "command": "asks", **common}, Actor("cli"))


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def _count(folder: Path, kills: int) -> KillCount:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        runs = {
            row[0]: row[1:] for row in connection.execute("SELECT id, kind, status, subject_name, attempt FROM runs")
        }
        retried = {row[0] for row in connection.execute("SELECT retry_of FROM runs WHERE retry_of IS NOT NULL")}
        unsettled = connection.execute("SELECT COUNT(*) FROM run_tasks").fetchone()[0]
    lines = Counter((folder / "trace").read_text().splitlines())
    log = AuditLog(folder / "audit.log")
    entries = Counter(entry.metadata["run"] for entry in log.newest() if entry.action in ENDS)
    failed = [id_ for id_, (_, status, name, n) in runs.items() if (status, name, n) == ("failed", "fails", 1)]
    return KillCount(
        kills=kills,
        runs=len(runs),
        kinds=len({kind for kind, *_ in runs.values()}),
        interrupted=sum(status == "interrupted" for _, status, *_ in runs.values()),
        lost=unsettled + sum(status not in TERMINAL for _, status, *_ in runs.values()),
        twice=sum(count > 1 for line, count in lines.items() if " skill " not in line),
        unreported=sum(not entries[id_] for id_ in runs),
        reported_twice=sum(count > 1 for count in entries.values()),
        not_retried=sum(id_ not in retried for id_ in failed),
    )


def _asked(folder: Path, sql: str) -> int:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])
