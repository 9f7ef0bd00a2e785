"""What was accepted is answered once, although the process is killed in the middle of it."""

from collections import Counter
from pathlib import Path
from random import Random

from tests.forked import forks
from tests.waiting import until

EVENTS = 600  # about as many again as one process works on at the same time


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_every_accepted_event_is_answered_once_across_two_kills(tmp_path: Path, chance: Random):
    def wait_until_begun(count: int) -> None:
        until(lambda: len(lines(tmp_path / "begun")) >= count, "handlers to begin", every_s=0.005)

    ended = tmp_path / "ended"
    (tmp_path / "total").write_text(str(EVENTS))
    with forks("tests.messaging.inbox_child", tmp_path) as fork:
        with fork(f"{EVENTS} {EVENTS // 2} {chance.random()}"):
            wait_until_begun(EVENTS // 2)
        begun = len(lines(tmp_path / "begun"))
        with fork(f"0 {EVENTS // 10} {chance.random()}"):
            wait_until_begun(begun + EVENTS // 10)
        with fork(f"0 all {chance.random()}"):
            while not ended.exists():  # each answer has as long as everything has in other tests
                answered = len(lines(tmp_path / "rung"))
                until(
                    lambda answered=answered: ended.exists() or len(lines(tmp_path / "rung")) > answered,
                    (tmp_path / "stderr").read_text,
                )
    assert Counter(lines(tmp_path / "rung")) == Counter(f"chat{n % 10} re event{n}" for n in range(EVENTS))
    assert 1 < max(Counter(lines(tmp_path / "begun")).values()) <= 3
