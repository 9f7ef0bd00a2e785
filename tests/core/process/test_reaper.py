"""What a supervised command starts ends with it, wherever it hides."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import eventually

from tocsin.core.errors import ProcessError
from tocsin.core.process import reaper
from tocsin.core.process.forking import forked_reapers
from tocsin.core.process.starting import SUPERVISES, Child, streaming

pytestmark = pytest.mark.skipif(not SUPERVISES, reason="only Linux has subreapers")

ENV = {"PATH": "/usr/bin:/bin"}
# Each prints the number of a process that wants to stay; Python, because it can do what shells cannot.
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in (0, 1, 2): os.close(fd)
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(600)
"""
POLITE = """
import signal
signal.signal(15, lambda *_: (open("bye", "w"), os._exit(0)))
open(sys.argv[1] + "2", "w").write("x")
time.sleep(600)
"""
HIDDEN = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
if len(sys.argv) > 1:
    path = sys.argv[1]
    os.execve(sys.executable, ["innocent", "-c", "import os, time, signal\\n"
        "signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN)\\n"
        f"open({path!r}, 'w').write(str(os.getpid()))\\nos.close(0); os.close(1); os.close(2)\\ntime.sleep(600)"], {})
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def pid_in(file: Path) -> int:
    return int(await eventually(lambda: file.is_file() and file.read_text()))


def argv(script: str, place: Path, then: str) -> list[str]:
    (place / "daemon.py").write_text(script)
    return ["/bin/sh", "-c", f'{sys.executable} daemon.py "$1" & {then}', "sh", str(place / "pid")]


WAIT_FOR_DAEMON = "while [ ! -s pid ]; do sleep 0.01; done"


@pytest.mark.parametrize("script", [DAEMON, HIDDEN], ids=["daemon", "no-environment"])
async def test_a_daemon_ends_with_the_command_that_started_it(tmp_path: Path, script: str):
    command = argv(script, tmp_path, f"{WAIT_FOR_DAEMON}; exit 3")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True) as child:
        assert await child.wait() == 3
    assert not alive(await pid_in(tmp_path / "pid"))


@pytest.mark.parametrize("script", [DAEMON, HIDDEN], ids=["daemon", "no-environment"])
async def test_a_daemon_ends_with_a_command_that_is_killed(tmp_path: Path, script: str):
    command = argv(script, tmp_path, "sleep 600")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True) as child:
        pid = await pid_in(tmp_path / "pid")
        child.kill()
        assert await child.wait() == -signal.SIGKILL
    assert not alive(pid)


async def test_a_daemon_ends_where_nobody_waits_any_more(tmp_path: Path):
    command = argv(DAEMON, tmp_path, "sleep 600")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True):
        pid = await pid_in(tmp_path / "pid")
    assert not alive(pid)


@pytest.mark.parametrize("signal_name", ["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "PIPE", "SEGV"])
async def test_a_signal_that_a_command_sends_its_supervisor_ends_everything(tmp_path: Path, signal_name: str):
    command = argv(DAEMON, tmp_path, f"{WAIT_FOR_DAEMON}; kill -{signal_name} $PPID; sleep 600")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True) as child:
        assert await child.wait() is not None
    assert not alive(await pid_in(tmp_path / "pid"))


async def test_a_command_that_stops_its_supervisor_is_ended_all_the_same(tmp_path: Path):
    command = argv(DAEMON, tmp_path, f"{WAIT_FOR_DAEMON}; kill -STOP $PPID; touch stopped; sleep 600")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True):
        await eventually((tmp_path / "stopped").exists)
        pid = await pid_in(tmp_path / "pid")
    assert not alive(pid)


async def test_a_daemon_that_is_asked_to_end_can_put_things_away(tmp_path: Path):
    script = DAEMON.replace("time.sleep(600)", POLITE)
    command = argv(script, tmp_path, "sleep 600")
    async with streaming(command, lambda *_: None, cwd=tmp_path, supervised=True) as child:
        pid = await pid_in(tmp_path / "pid")
        child.kill()
        assert await child.wait() == -signal.SIGKILL
    assert not alive(pid)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -PIPE $$", -13)])
async def test_the_end_is_that_of_the_command(script: str, code: int):
    async with streaming(["/bin/sh", "-c", script], lambda *_: None, supervised=True) as child:
        assert await child.wait() == code


async def test_the_command_gets_the_environment_and_the_streams_that_were_meant_for_it():
    got: dict[str, bytes] = {"stdout": b"", "stderr": b""}

    def take(stream: str, data: bytes) -> None:
        got[stream] += data

    env = {"LANG": "C", "PATH": "/usr/bin:/bin", "A": "x\ny"}
    command = ["/bin/sh", "-c", "cat; env -0; echo bad >&2; echo $PPID"]
    async with streaming(command, take, stdin="text\n", env=env, supervised=True) as child:
        assert await child.wait() == 0
        assert int(got["stdout"].rpartition(b"\0")[2]) == child.pid
    variables = dict(pair.split(b"=", 1) for pair in got["stdout"].partition(b"\n")[2].split(b"\0") if b"=" in pair)
    assert got["stdout"].startswith(b"text\n")
    assert got["stderr"] == b"bad\n"
    assert {key: variables[key] for key in (b"LANG", b"A")} == {b"LANG": b"C", b"A": b"x\ny"}
    assert not set(variables) - {b"LANG", b"PATH", b"A", b"PWD", b"OLDPWD", b"SHLVL", b"_"}


async def test_killing_its_own_group_is_the_commands_own_affair():
    async with streaming(["/bin/sh", "-c", "kill -TERM 0; sleep 600"], lambda *_: None, supervised=True) as child:
        assert await child.wait() == -signal.SIGTERM


async def test_where_the_program_that_started_it_is_killed_everything_ends(tmp_path: Path):
    (tmp_path / "daemon.py").write_text(DAEMON)
    script = f"""
import asyncio
from tocsin.core.errors import ProcessError
from tocsin.core.process.forking import forked_reapers
from tocsin.core.process.starting import streaming
async def main():
    command = ["/bin/sh", "-c", "{sys.executable} daemon.py pid & sleep 600"]
    async with streaming(command, lambda *_: None, supervised=True) as child:
        open("child", "w").write(str(child.pid))
        await child.wait()
asyncio.run(main())
"""
    owner = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env={**os.environ})
    pids = [await pid_in(tmp_path / "pid"), await pid_in(tmp_path / "child")]
    owner.kill()
    owner.wait()
    await eventually(lambda: not any(alive(pid) for pid in pids))


def test_where_that_program_died_before_its_supervisor_looked_nothing_is_started(tmp_path: Path):
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    supervisor = [sys.executable, "-I", "-S", reaper.__file__, str(gone.pid), "/bin/touch", str(tmp_path / "started")]
    assert subprocess.run(supervisor, check=False).returncode == 1
    assert not list(tmp_path.iterdir())


async def test_many_commands_at_once_end_only_what_is_theirs(tmp_path: Path):
    async def one(name: str, seconds: float) -> Path:
        place = tmp_path / name
        place.mkdir()
        command = argv(DAEMON, place, WAIT_FOR_DAEMON if seconds == 0 else "sleep 600")

        async def use(child: Child) -> None:
            await (child.wait() if seconds == 0 else other.wait())

        async with streaming(command, lambda *_: None, cwd=place, supervised=True) as child:
            if seconds:
                running.append(await pid_in(place / "pid"))
            await use(child)
        return place

    other, running = asyncio.Event(), list[int]()
    long = asyncio.create_task(one("long", 600))
    await eventually(lambda: running)
    ended = await asyncio.gather(*(one(str(number), 0) for number in range(5)))
    assert not [place for place in ended if alive(await pid_in(place / "pid"))]
    assert alive(running[0])
    other.set()
    await long
    assert not alive(running[0])


async def test_where_reapers_are_forked_commands_run_as_where_they_are_started(tmp_path: Path):
    async with forked_reapers():
        await test_the_command_gets_the_environment_and_the_streams_that_were_meant_for_it()
        for script, code in (("exit 7", 7), ("kill -9 $$", -9), ("kill -TERM 0; sleep 600", -15)):
            await the_end_of(script, code)
        await test_a_daemon_ends_with_the_command_that_started_it(tmp_path, HIDDEN)
        with pytest.raises(ProcessError, match=r"/bin/sh .*/nowhere: No such file"):
            await the_end_of("true", 0, cwd=tmp_path / "nowhere")
        await the_end_of(f"exit {'0' * 40_000}5", 5)  # longer than an order of the server
        await the_end_of("kill -SEGV $PPID; kill -ABRT $PPID; exit 6", 6)
        await the_end_of("kill -SEGV $$", -signal.SIGSEGV)
        ready = asyncio.Event()
        command = ["/bin/sh", "-c", "echo ready; exec sleep 600"]
        async with streaming(command, lambda *_: ready.set(), env=ENV, supervised=True) as child:
            await ready.wait()
            child.stop(60)
            assert await child.wait() == -signal.SIGTERM


async def test_what_a_forked_reaper_supervises_ends_with_the_server_and_the_next_one_has_another(tmp_path: Path):
    async with forked_reapers():
        command = argv(DAEMON, tmp_path, "sleep 600")
        async with streaming(command, lambda *_: None, env=ENV, cwd=tmp_path, supervised=True) as child:
            pid = await pid_in(tmp_path / "pid")
            os.kill(parent_of(child.pid), signal.SIGKILL)
            assert await child.wait() == -signal.SIGKILL
            await eventually(lambda: not alive(pid))
        await the_end_of("exit 3", 3)


async def test_a_command_that_fails_with_the_server_is_not_started_by_the_next_one(tmp_path: Path):
    sleep = streaming(["/bin/sleep", "600"], lambda *_: None, env=ENV, supervised=True)
    async with forked_reapers(), sleep as child:
        server = parent_of(child.pid)
        os.kill(server, signal.SIGSTOP)
        orders = [asyncio.create_task(the_end_of(f"touch {n}", 0, cwd=tmp_path)) for n in range(40)]
        for _ in range(20):  # now some are in the socket, and it has no room for the others
            await asyncio.sleep(0)
        os.kill(server, signal.SIGKILL)
        await asyncio.wait(orders, return_when=asyncio.FIRST_COMPLETED)
        await the_end_of("exit 3", 3)
        await asyncio.wait(orders)
    assert {type(order.exception()) for order in orders} == {ProcessError}
    assert not list(tmp_path.iterdir())


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def the_end_of(script: str, code: int, cwd: Path | None = None) -> None:
    async with streaming(["/bin/sh", "-c", script], lambda *_: None, env=ENV, cwd=cwd, supervised=True) as child:
        assert await child.wait() == code
