"""Processes that write to one vault: at the same time, or killed in the middle."""

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from tests.chaos.figures import Figure, none_of

from tocsin.core.errors import TocsinError
from tocsin.features.vault.cipher import PyrageCipher
from tocsin.features.vault.model import VaultContent
from tocsin.features.vault.store import VaultStore

NAMES = 20  # that the writers set in turn


def add(store: VaultStore, name: str, value: str) -> None:
    store.change(lambda content: content.with_secret(name, value, 1.0))


def write_at_the_same_time(data_dir: Path, *, writers: int, each: int) -> int:
    """Have processes write at the same time; return how many of their values are there."""

    def work(number: int) -> None:
        store = VaultStore(data_dir, PyrageCipher())
        for turn in range(each):
            add(store, f"W{number}_{turn}", "x")

    children = [forked(partial(work, number)) for number in range(writers)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    return sum(name.startswith("W") for name in VaultStore(data_dir, PyrageCipher()).read().secrets)


def kill_writers(directory: Path, *, kills: int) -> list[Figure]:
    """Kill a process at every step of its writes in turn: of `set`, of `rekey`, and of `init`.

    A step is a call of a function that is not written in Python, which every call of the system is.
    """
    data_dir = directory / "data"
    store = VaultStore(data_dir, PyrageCipher())
    store.init()
    for number in range(NAMES):
        add(store, f"N{number}", "before")
    may_have = {f"N{number}": {"before"} for number in range(NAMES)}  # what is acknowledged, and what came after it
    steps = {work: _steps_of(work, directory / "counted" / work.__name__) for work in (_set, _rekey, _init)}
    unreadable: list[str] = []
    lost: list[str] = []
    acknowledged = 0
    for number in range(kills):
        work = (_set, _set, _set, _rekey, _init)[number % 5]
        place = directory / f"init-{number}" if work is _init else data_dir
        name, value = f"N{number % NAMES}", f"value {number}"
        step = 1 + (number // 5 * 7919) % (steps[work] + 10)  # a prime: every part of the write has its turn
        said = _killed_at(step, partial(_set, data_dir, name, f"{value} before"), partial(work, place, name, value))
        acknowledged += len(said)
        may_have[name] = {f"{value} before"} if said else may_have[name] | {f"{value} before"}
        if work is _set:
            may_have[name] = {value} if len(said) > 1 else may_have[name] | {value}
        unreadable += _problems(place, f"kill {number} at step {step} of {work.__name__}")
        kept = store.read().secrets
        lost += [f"{each} after kill {number}" for each in may_have if kept[each].value not in may_have[each]]
    return [
        Figure("kills during writes of the vault", kills),
        Figure("steps of a write at which it was killed", steps[_set]),
        Figure("writes acknowledged before the kill", acknowledged, "≥", kills),
        none_of("unreadable vaults", unreadable),
        none_of("lost acknowledged writes", lost),
        none_of("files left behind", data_dir.glob(".tocsin-*")),
    ]


def _set(place: Path, name: str, value: str) -> None:
    add(VaultStore(place, PyrageCipher()), name, value)


def _rekey(place: Path, _name: str, _value: str) -> None:
    VaultStore(place, PyrageCipher()).rekey()


def _init(place: Path, _name: str, _value: str) -> None:
    VaultStore(place, PyrageCipher()).init()


def _steps_of(work: Callable[[Path, str, str], None], place: Path) -> int:
    """Return how many steps a write takes on a vault of its own."""
    if work is not _init:
        VaultStore(place, PyrageCipher()).init()
        for number in range(NAMES):
            add(VaultStore(place, PyrageCipher()), f"N{number}", "x")
    counted = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event == "c_call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work(place, "N0", "y")
    finally:
        sys.setprofile(before)
    return counted


def survive_kills_and_writers(directory: Path) -> list[Figure]:
    """The full size: 1,000 kills, and 8 processes that write 100 values each at the same time."""
    together = directory / "together"
    VaultStore(together, PyrageCipher()).init()
    started = time.monotonic()
    there = write_at_the_same_time(together, writers=8, each=100)
    took_s = time.monotonic() - started
    return [
        *kill_writers(directory, kills=1_000),
        Figure("values of 8 writers that are there", there, "=", 800),
        Figure("values written a second by 8 writers", 800 / took_s, unit="/s"),
    ]


def _problems(place: Path, when: str) -> list[str]:
    """Return why a vault is not there, cannot be read, or cannot be written; a half-made one is completed."""
    store = VaultStore(place, PyrageCipher())
    try:
        if not store.vault.exists():
            store.init()
        content: VaultContent = store.read()
        store.change(lambda _: content)
    except TocsinError as error:
        return [f"{when}: {error.sentence()}"]
    return []


def _killed_at(step: int, before: Callable[[], None], work: Callable[[], None]) -> bytes:
    """Fork a process that writes once, and is killed at a step of its second work; return an `x` for each it ended."""
    reader, writer = os.pipe()

    def run() -> None:
        os.close(reader)
        before()
        os.write(writer, b"x")
        left = step

        def count(_frame: FrameType, event: str, _argument: Any) -> None:
            nonlocal left
            left -= event == "c_call"
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        work()
        sys.setprofile(None)
        os.write(writer, b"x")

    child = forked(run)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def forked(work: Callable[[], None]) -> int:
    """Run `work` in a fork of this process; return its number."""
    if child := os.fork():
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)
