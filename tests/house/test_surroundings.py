"""The suite itself does not depend on what it is started from."""

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
ORDER = "\n".join(f"def test_{number}():\n    print('<{number}>')\n" for number in range(10, 40))


def ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def block_ctrl_c() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def suite(
    place: Path, tests: str, *options: str, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tests with the settings and the conftest.py of ours."""
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
        "--rootdir",
        place,
        *options,
        place,
    ]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, preexec_fn=before)


@pytest.mark.parametrize("before", [ignore_ctrl_c, block_ctrl_c])
def test_children_hear_ctrl_c_also_where_the_suite_was_started_deaf_to_it(tmp_path: Path, before: Callable[[], None]):
    done = suite(tmp_path, HEARS, before=before)
    assert done.returncode == 0, done.stdout


def test_a_suite_that_was_started_deaf_to_ctrl_c_stays_so(tmp_path: Path):
    done = suite(tmp_path, IGNORES, before=ignore_ctrl_c)
    assert done.returncode == 0, done.stdout


def test_a_random_order_can_be_repeated_by_the_number_it_tells(tmp_path: Path):
    first = suite(tmp_path, ORDER, "--shuffle=new")
    told = first.stdout.partition("--shuffle=")[2].split()[0]
    again = suite(tmp_path, ORDER, f"--shuffle={told}")
    assert order_of(first.stdout) == order_of(again.stdout)
    assert suite(tmp_path, ORDER, "--shuffle=new", "-n2").returncode == 0, "the workers agree"
    assert order_of(first.stdout) != sorted(order_of(first.stdout))


def order_of(out: str) -> list[str]:
    return re.findall("<(..)>", out)
