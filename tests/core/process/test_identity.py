"""Only a process that is proved to have ended is taken for dead."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tocsin.core.process.identity import boot_id, is_alive, is_dead, own_identity

TELL = "from tocsin.core.process.identity import own_identity; print(own_identity(), flush=True); input()"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof is read from /proc")


@contextmanager
def a_process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    child = subprocess.Popen([sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


def changed(identity: str, **values: str) -> str:
    names = ("pid", "start", "namespace", "boot", "host")
    return ":".join(values.get(name, field) for name, field in zip(names, identity.split(":", 4), strict=True))


def test_the_boot_of_this_machine_has_a_name_that_stays():
    assert boot_id() == boot_id() != ""


def test_a_process_that_runs_is_not_dead():
    assert own_identity() == own_identity()
    assert not is_dead(own_identity())
    assert is_alive(own_identity())
    with a_process() as (_, identity):
        assert identity != own_identity()
        assert not is_dead(identity)
        assert is_alive(identity)


def test_a_process_that_was_killed_is_dead_before_and_after_somebody_waits_for_it():
    with a_process() as (child, identity):
        os.kill(child.pid, signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert is_dead(identity)
        child.wait()
        assert is_dead(identity)
        assert not is_alive(identity)


def test_another_process_with_the_same_number_does_not_hide_a_death():
    assert is_dead(changed(own_identity(), start="1"))


def test_a_process_of_an_earlier_boot_of_this_machine_is_dead():
    assert is_dead(changed(own_identity(), boot="a9e6cdd7-0000-0000-0000-ef4b87e8912b"))


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "elsewhere"},
        {"host": "elsewhere", "boot": "another"},
        {"namespace": "[1]"},
        {"namespace": ""},
        {"boot": ""},
        {"start": ""},
        {"pid": "x"},
        {"pid": "9" * 30},
    ],
)
def test_nothing_is_proved_of_another_machine_or_container_or_without_proc(elsewhere: dict[str, str]):
    with a_process() as (child, identity):
        child.kill()
        child.wait()
        assert is_dead(identity)
        assert not is_dead(changed(identity, **elsewhere))
        assert not is_alive(changed(own_identity(), **elsewhere))


@pytest.mark.parametrize("text", ["", "7", "host:7:2", "x:1:[2]:3:host", f"{'9' * 30}:1::b:h"])
def test_what_is_no_identity_proves_nothing(text: str):
    assert not is_dead(text)
