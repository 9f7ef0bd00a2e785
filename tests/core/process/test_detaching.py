"""Programs that outlive whoever starts them."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.waiting import eventually

from tocsin.core.errors import ProcessError
from tocsin.core.process.detaching import DetachedProcess, end_detached, start_detached
from tocsin.core.process.identity import read_identity


async def test_the_program_gets_exactly_its_environment_and_leads_a_session(tmp_path: Path):
    log = tmp_path / "log"
    log.touch(0o600)
    log.write_text("of the last one")
    script = "tr '\\0' '\\n' </proc/self/environ; read line; echo \"end $?\"; trap - PIPE; exec sleep 60"
    process = await start_detached(["/bin/sh", "-c", script], env={"ONLY": "this one"}, log=log)
    try:
        await eventually(lambda: "end" in log.read_text(), log.read_text)
        assert "ONLY=this one\n" in log.read_text()
        assert "LC_CTYPE" not in log.read_text()
        assert "of the last one" not in log.read_text()
        assert "end 1" in log.read_text()  # there is nobody to read from
        assert (os.getsid(process.pid), log.stat().st_mode & 0o777) == (process.pid, 0o600)
        if sys.platform == "linux":
            ignored = next(
                line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "SigIgn" in line
            )
            assert not int(ignored.split()[1], 16) & 1 << signal.SIGPIPE - 1
    finally:
        assert await end_detached(process, 60.0)
    assert not process.runs()


async def test_a_program_that_cannot_be_started_is_told(tmp_path: Path):
    with pytest.raises(ProcessError, match=r"nowhere.*No such file"):
        await start_detached(["/nowhere"], env={}, log=tmp_path / "log")
    with pytest.raises(ProcessError, match="No such file"):
        await start_detached(["/bin/true"], env={}, log=tmp_path / "no" / "log")


async def test_a_cancelled_start_leaves_no_program(tmp_path: Path):
    pid_file = tmp_path / "pid"
    starting = asyncio.create_task(
        start_detached(["/bin/sh", "-c", f"echo $$ >{pid_file}; exec sleep 60"], env={}, log=tmp_path / "log")
    )
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    if pid_file.exists() and (text := pid_file.read_text().strip()):
        assert not DetachedProcess(int(text), read_identity(int(text))).runs()


async def test_a_process_of_another_machine_is_taken_to_run_and_never_ended_here():
    own = read_identity(os.getpid())
    elsewhere = DetachedProcess(os.getpid(), own.rpartition(":")[0] + ":another-machine")
    assert elsewhere.runs()
    with pytest.raises(ProcessError, match="machine"):
        await end_detached(elsewhere, 1.0)


async def test_a_process_that_got_the_number_of_another_one_is_not_ended():
    pid, start, rest = read_identity(os.getpid()).split(":", 2)
    other = DetachedProcess(os.getpid(), f"{pid}:{int(start) - 1}:{rest}")
    assert not other.runs()
    received: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        assert await end_detached(other, 1.0)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert received == []
