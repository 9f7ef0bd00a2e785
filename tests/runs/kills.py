"""Kill what executes runs of many kinds again and again, and count what became of each run."""

import json
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path

from tests.forked import forks
from tests.waiting import until

from tocsin.core.audit.log import AuditLog
from tocsin.core.time.clock import SystemClock
from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import TERMINAL
from tocsin.testing.features import open_feature

ENDS = {
    "workflow.run",
    "cron.execute",
    "skill.run",
    "skill.assist",
    "ssh.run",
    "job.complete",
    "watcher.run",
    "trigger.run",
}
NOTIFIED = {"skill", "ssh", "trigger"}  # each interruption has a notice of its own; the others report a failing subject
KINDS = 8
_ACTIVE = "SELECT COUNT(*) FROM runs WHERE finished_at IS NULL"
_UNSETTLED = """
    SELECT (SELECT COUNT(*) FROM run_tasks) + (SELECT COUNT(*) FROM inbox WHERE finished_at IS NULL)
        + (SELECT COUNT(*) FROM runs WHERE finished_at IS NULL)
"""
_TOLD = 'echo "$RUN_ID $STEP $ATTEMPT" >> TRACE'
_FLOWS = {
    "asks": f"""
overlap: parallel
notify_profile: team
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
    messages_missing: int  # ends of workflows without a summary
    messages_unexpected: int  # summaries and answers of triggers beyond one for each
    unnotified: int  # interruptions without a notice
    notified_twice: int
    without_failure_path: int  # workflows whose `on_finish` did not run


BAD = tuple(each.name for each in fields(KillCount) if each.name not in {"kills", "runs", "kinds", "interrupted"})


async def survive_kills(folder: Path, kills: int, chance: random.Random) -> KillCount:
    """Start runs in a process that is killed again and again, also until there are runs of all kinds.

    Return what is found afterwards.
    """
    await _prepare(folder)
    killed = 0
    with forks("tests.runs.victim", folder, {"SKILLS_WATCH": str(folder / "looked-at")}) as process:
        while killed < kills or len(_kinds(folder)) < KINDS:
            with process(""):
                wanted = min(KINDS, 2 * killed + 2)
                until(lambda wanted=wanted: len(_kinds(folder)) >= wanted, "runs of several kinds to be started")
                time.sleep(chance.uniform(0.0, 1.0))
            killed += 1
        with process("drain"):
            while left := _asked(folder, _ACTIVE):  # some hundred wait for their turn
                until(lambda left=left: _asked(folder, _ACTIVE) < left, "a run to end")
            until(lambda: not _asked(folder, _UNSETTLED), "every run to be settled, and every message answered")
    return _count(folder, killed)


async def _prepare(folder: Path) -> None:
    for path in (folder / "workflows", folder / "skills" / "it", folder / "watched", folder / "looked-at"):
        path.mkdir(mode=0o700, parents=True)
    for name, text in _FLOWS.items():
        _write(folder / "workflows" / f"{name}.yaml", f"name: {name}\n{text}".replace("TRACE", str(folder / "trace")))
    told = f"echo $1 skill 1 >> {folder}/trace"
    _write(folder / "skills" / "it" / "skill.yaml", f"name: it\ndescription: Does it.\ncommand: '{told}'\n")
    _write(folder / "looked-at" / "a.txt", "nothing secret\n")
    _write(folder / "profiles.yaml", "team: [{channel: bell, target: tower}]\n")
    again = f"echo $TRIGGER_ID-$TRIGGER_ATTEMPT trigger 1 >> {folder}/trace"
    once = f"echo $TRIGGER_ID trigger 1 >> {folder}/trace"
    rules = f"- {{pattern: again, command: '{again}'}}\n- {{pattern: once, command: '{once}', repeat: false}}\n"
    _write(folder / "triggers.yaml", rules)
    (folder / "watched" / "a.txt").touch()
    rule = f"path: {folder}/watched, action: shell, command: 'echo $RUN_ID watcher 1 >> {folder}/trace'"
    _write(folder / "watchers.yaml", f"- {{name: files, {rule}}}\n")
    _write(folder / "ssh_hosts.yaml", "hosts: [{name: nowhere, hostname: 127.0.0.1, port: 1}]\n")
    async with open_feature(CRON, folder, {"TZ": "UTC"}, clock=SystemClock()) as bench:
        common = {"schedule": "@yearly", "overlap": "parallel", "max_parallel": 1000, "history_limit": 100_000}
        told = f"echo $RUN_ID cron 1 >> {folder}/trace; exit 1"
        fails = {"name": "fails", "command": told, "retry": {"max_attempts": 2, "delay_seconds": 1}, **common}
        await bench.service.add(fails, Caller("cli"))
        await bench.service.add({"name": "flow", "type": "workflow", "command": "asks", **common}, Caller("cli"))


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def _count(folder: Path, kills: int) -> KillCount:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        connection.row_factory = sqlite3.Row
        runs = {row["id"]: row for row in connection.execute("SELECT * FROM runs")}
        unsettled = connection.execute("SELECT COUNT(*) FROM run_tasks").fetchone()[0]
        waiting = connection.execute("SELECT COUNT(*) FROM inbox WHERE finished_at IS NULL").fetchone()[0]
        events = connection.execute("SELECT COUNT(*) FROM inbox").fetchone()[0]
        messages = connection.execute("SELECT COUNT(*) FROM deliveries").fetchone()[0]
        notices = Counter[str]()
        for row in connection.execute("SELECT dedupe_key, count FROM notifications"):
            notices[row["dedupe_key"]] += row["count"]
    every = list(runs.values())
    retried = {run["retry_of"] for run in every}
    lines = Counter((folder / "trace").read_text().splitlines())
    entries = Counter(
        entry.metadata["run"] for entry in AuditLog(folder / "audit.log").newest() if entry.action in ENDS
    )
    told = [run for run in every if run["kind"] in NOTIFIED and run["status"] == "interrupted" and _is_notified(run)]
    flows = [run for run in every if run["subject_name"] == "asks" and run["started_at"] is not None]
    answered = Counter(_event(run) for run in every if run["kind"] == "trigger" and run["status"] == "succeeded")
    return KillCount(
        kills=kills,
        runs=len(runs),
        kinds=len(_kinds(folder)),
        interrupted=sum(run["status"] == "interrupted" for run in every),
        lost=unsettled + waiting + sum(run["status"] not in TERMINAL for run in every),
        twice=sum(count > 1 for count in lines.values()) + sum(count > 1 for count in answered.values()),
        unreported=sum(not entries[id_] for id_ in runs),
        reported_twice=sum(count > 1 for count in entries.values()),
        not_retried=sum(
            run["status"] == "failed" and run["subject_name"] == "fails" and run["attempt"] == 1
            for run in every
            if run["id"] not in retried
        ),
        messages_missing=sum(run["delivery_queued"] == "[]" for run in flows),
        messages_unexpected=abs(messages - events - sum(len(json.loads(run["delivery_queued"])) for run in every)),
        unnotified=sum(run["id"] not in notices for run in told),
        notified_twice=sum(notices[run["id"]] > 1 for run in told),
        without_failure_path=sum(f"{run['id']} finish 1" not in lines for run in flows if not _was_cut(folder, run)),
    )


def _kinds(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        connection.row_factory = sqlite3.Row
        return {_kind(run) for run in connection.execute("SELECT kind, params FROM runs")}


def _kind(run: sqlite3.Row) -> str:
    return "assistant" if "folder" in json.loads(run["params"]) else str(run["kind"])


def _event(run: sqlite3.Row) -> str:
    return str(json.loads(run["params"])["event"])


def _is_notified(run: sqlite3.Row) -> bool:
    """Whether an interruption gets a notice of its own: that of a trigger only if the rule does not start again."""
    return run["kind"] != "trigger" or not json.loads(run["params"])["repeat"]


def _was_cut(folder: Path, run: sqlite3.Row) -> bool:
    """Whether a run was killed while it executed its last step, or was cancelled with its parent."""
    sql = "SELECT record FROM run_parts WHERE run_id = ? AND name = 'finish'"
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        found = connection.execute(sql, [run["id"]]).fetchone()
    return found is not None and json.loads(found[0])["status"] == "interrupted"


def _asked(folder: Path, sql: str) -> int:
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])
