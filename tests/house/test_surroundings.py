"""The suite itself does not depend on what it is started from."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEARS = """
import subprocess, sys

def test_a_child_hears_ctrl_c():
    code = "import signal; print(signal.getsignal(2).__name__, signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "default_int_handler set()\\n"
"""
IGNORES = """
import signal

def test_the_tests_themselves_go_on_ignoring_it():
    signal.raise_signal(signal.SIGINT)
"""
ORDER = """
import pytest

@pytest.mark.parametrize("number", range(10, 40))
def test_it(number, worker_id):
    with open(f"done-{worker_id}", "a") as file:
        file.write(f"<{number}>")
"""


def ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def block_ctrl_c() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def suite(
    place: Path, tests: str, *options: str, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tests with the conftest.py of ours and, for speed, the one plugin that has a part in it."""
    (place / "test_them.py").write_text(tests, encoding="utf-8")
    (place / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "xdist",
        "--rootdir",
        place,
        *options,
        place,
    ]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False, preexec_fn=before)


@pytest.mark.parametrize("before", [ignore_ctrl_c, block_ctrl_c])
def test_children_hear_ctrl_c_and_the_suite_does_not_where_it_was_started_deaf_to_it(
    tmp_path: Path, before: Callable[[], None]
):
    done = suite(tmp_path, HEARS + IGNORES if before is ignore_ctrl_c else HEARS, before=before)
    assert done.returncode == 0, done.stdout


def test_a_random_order_can_be_repeated_by_the_number_it_tells_and_workers_agree_on_it(tmp_path: Path):
    workers = suite(tmp_path, ORDER, "--shuffle=new", "-n2")
    assert workers.returncode == 0, workers.stdout
    told = workers.stdout.partition("--shuffle=")[2].split()[0]
    done = {each.name: order_of(each.read_text()) for each in tmp_path.glob("done-gw*")}
    suite(tmp_path, ORDER, f"--shuffle={told}")
    order = order_of((tmp_path / "done-master").read_text())
    assert order != sorted(order)
    assert sorted(number for part in done.values() for number in part) == sorted(order)
    for part in done.values():
        assert part == [number for number in order if number in part]


def order_of(out: str) -> list[str]:
    return re.findall("<(..)>", out)
