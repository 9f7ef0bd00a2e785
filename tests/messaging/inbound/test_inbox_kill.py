"""What was accepted is answered once, although the process is killed in the middle of it."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[3]
EVENTS = 600  # about as many again as one process works on at the same time


def child(place: Path, events: int, most: int | str, chance: Random) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.messaging.inbox_child", str(place), str(events), str(most)]
    argv.append(str(chance.randrange(1_000_000)))  # the seed
    return subprocess.Popen(argv, cwd=ROOT)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def kill_when_begun(process: subprocess.Popen[bytes], place: Path, count: int) -> None:
    def begun() -> bool:
        assert process.poll() is None
        return len(lines(place / "begun")) >= count

    until(begun, every_s=0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_every_accepted_event_is_answered_once_across_two_kills(tmp_path: Path, chance: Random):
    (tmp_path / "total").write_text(str(EVENTS))
    first = child(tmp_path, EVENTS, EVENTS // 2, chance)
    kill_when_begun(first, tmp_path, EVENTS // 2)
    begun = len(lines(tmp_path / "begun"))
    second = child(tmp_path, 0, EVENTS // 10, chance)
    kill_when_begun(second, tmp_path, begun + EVENTS // 10)
    assert child(tmp_path, 0, "all", chance).wait(PATIENCE_S) == 0
    assert Counter(lines(tmp_path / "rung")) == Counter(f"chat{n % 10} re event{n}" for n in range(EVENTS))
    assert 1 < max(Counter(lines(tmp_path / "begun")).values()) <= 3
