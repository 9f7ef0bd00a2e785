"""Kill what watches again and again, and count what became of every file."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.waiting import until

ROOT = Path(__file__).parents[3]
FILES = 8  # of each life


def test_after_kills_every_file_that_was_noted_has_one_run_and_was_acted_on_at_most_once(
    tmp_path: Path, chance: random.Random
):
    watched, data, trace = tmp_path / "watched", tmp_path / "data", tmp_path / "trace"
    for folder in (watched, data):
        folder.mkdir(mode=0o700)
    command = f'echo "$WATCH_PATH" >> {trace}; sleep 0.05'
    rule = {"name": "all", "path": str(watched), "events": ["created"], "command": command, "debounce_ms": 20}
    (data / "watchers.yaml").write_text(f"- {json.dumps(rule)}\n")
    made: list[str] = []
    for life in range(3):
        with _watching(data):
            for number in range(FILES):
                made.append(str(watched / f"{life}-{number}"))
                Path(made[-1]).write_text("x")
            until(lambda: _count(data, "SELECT COUNT(*) FROM watcher_events") == len(made), "all files to be noted")
            time.sleep(chance.uniform(0, 0.3))  # to be killed at any time of the work
    with _watching(data):
        until(lambda: _is_done(data, len(made)), "every file to be acted on")
    rows = _rows(data, "SELECT params, status, id FROM runs WHERE kind = 'watcher'")
    lines = Counter(trace.read_text().splitlines())
    assert sorted(json.loads(params)["path"] for params, _, _ in rows) == sorted(made)
    assert max(lines.values()) == 1
    assert {status for _, status, _ in rows} <= {"succeeded", "interrupted"}
    assert {json.loads(params)["path"] for params, status, _ in rows if status == "succeeded"} <= set(lines)


@contextmanager
def _watching(data: Path) -> Iterator[None]:
    """Run a process that watches, and kill it at the end of the block."""
    _forget_who_watched(data)
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(data), "REDIS_URL": "off", "TZ": "UTC"}
    child = subprocess.Popen([sys.executable, "-m", "tests.features.watchers.victim"], cwd=ROOT, env=env)
    try:
        until(
            lambda: _count(data, "SELECT COUNT(*) FROM watcher_states WHERE is_watching AND rule <> ''"),
            "the folder to be watched",
        )
        yield
    finally:
        child.kill()
        child.wait()


def _forget_who_watched(data: Path) -> None:
    if (data / "tocsin.db").exists():
        with closing(sqlite3.connect(data / "tocsin.db")) as connection, connection:
            connection.execute("UPDATE watcher_states SET is_watching = 0")


def _is_done(data: Path, files: int) -> bool:
    """Return whether every file had its run: one may have been noted whose run is not yet stored."""
    ended = _count(data, "SELECT COUNT(*) FROM runs WHERE kind = 'watcher' AND finished_at IS NOT NULL")
    waiting = _count(data, "SELECT COUNT(*) FROM watcher_events WHERE due_at IS NOT NULL")
    left = "SELECT (SELECT COUNT(*) FROM run_tasks) + (SELECT COUNT(*) FROM runs WHERE finished_at IS NULL)"
    return ended >= files and not waiting and not _count(data, left)


def _count(data: Path, sql: str) -> int:
    rows = _rows(data, sql)
    return int(rows[0][0]) if rows else 0


def _rows(data: Path, sql: str) -> list[tuple[str, ...]]:
    if not (data / "tocsin.db").exists():
        return []
    with closing(sqlite3.connect(data / "tocsin.db")) as connection:
        try:
            return [tuple(row) for row in connection.execute(sql)]
        except sqlite3.OperationalError:  # its tables are made by the first process
            return []
