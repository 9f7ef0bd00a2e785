"""Kill what watches again and again, and count what became of every file."""

import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.forked import Fork, forks
from tests.waiting import until

FILES = 8  # of each life
LOOK_S = 0.05
NOTED = "SELECT COUNT(*) FROM watcher_events"


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
    with forks("tests.features.watchers.victim", data) as fork:
        for life in range(3):
            with _watching(fork, data):
                for number in range(FILES):
                    made.append(str(watched / f"{life}-{number}"))
                    Path(made[-1]).write_text("x")
                until(lambda: _count(data, NOTED) == len(made), "all files to be noted", every_s=LOOK_S)
                time.sleep(chance.uniform(0, 0.3))  # to be killed at any time of the work
        with _watching(fork, data):
            until(lambda: _is_done(data, len(made)), "every file to be acted on", every_s=LOOK_S)
    rows = _rows(data, "SELECT params, status, id FROM runs WHERE kind = 'watcher'")
    lines = Counter(trace.read_text().splitlines())
    assert sorted(json.loads(params)["path"] for params, _, _ in rows) == sorted(made)
    assert max(lines.values()) == 1
    assert {status for _, status, _ in rows} <= {"succeeded", "interrupted"}
    assert {json.loads(params)["path"] for params, status, _ in rows if status == "succeeded"} <= set(lines)


@contextmanager
def _watching(fork: Fork, data: Path) -> Iterator[None]:
    """Run a process that watches, and kill it at the end of the block."""
    _forget_who_watched(data)
    with fork(""):
        watched = "SELECT COUNT(*) FROM watcher_states WHERE is_watching AND rule <> ''"
        until(lambda: _count(data, watched), "the folder to be watched", every_s=LOOK_S)
        yield


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
