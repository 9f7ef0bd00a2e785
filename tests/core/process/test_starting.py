"""Child processes: they end, wholly, and what they leave behind is nothing."""

import asyncio
import inspect
import os
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.waiting import LIMITS_S, PATIENCE_S, eventually

from tocsin.core.errors import ProcessError
from tocsin.core.process.forking import ForkedTransport
from tocsin.core.process.starting import MAX_OUTPUT_BYTES, ProcessTimeoutError, run, streaming


def on_each_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on asyncio's loop, as commands do, and on uvloop, as services do; it may leave no child."""

    @pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
    def run_test(new_loop: Callable[[], asyncio.AbstractEventLoop], **fixtures: Any) -> None:
        before = children()
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(test(**fixtures))
        assert children() - before == set()

    wanted = inspect.signature(test).parameters.values()
    loop = inspect.Parameter("new_loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run_test.__signature__ = inspect.Signature([loop, *wanted])  # type: ignore[attr-defined]
    run_test.__name__, run_test.__doc__ = test.__name__, test.__doc__
    return run_test


def children() -> set[int]:
    """List the children of this process, dead ones included."""
    found: set[int] = set()
    for path in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found |= set(map(int, path.read_text().split()))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet reaped by init does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the second one where it goes while it is read
        return False


async def pid_in(path: Path) -> int:
    """Wait for a process to write its ID."""

    def look() -> str:
        text = path.read_text() if path.exists() else ""
        return text if text.endswith("\n") else ""

    return int(await eventually(look, f"nobody wrote {path}"))


async def gone(pid: int) -> bool:
    """Wait for a killed process to disappear."""
    return await eventually(lambda: not alive(pid), f"{pid} is alive")


@on_each_loop
async def test_arguments_and_input_arrive_as_they_are_without_a_shell():
    hostile = ["-n", "$(id)", "a'b\"c", "two\nlines", "😀", "", "*"]
    done = await run(["sh", "-c", 'printf "%s|" "$@"; cat', "sh", *hostile], timeout_s=PATIENCE_S, stdin="text\n")
    assert done.stdout == "".join(f"{argument}|" for argument in hostile) + "text\n"
    assert (done.exit_code, done.stderr) == (0, "")


@on_each_loop
async def test_exit_code_and_both_outputs_come_back_separately():
    done = await run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=PATIENCE_S)
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")


@on_each_loop
async def test_a_child_killed_by_a_signal_has_that_signal_as_negative_exit_code():
    assert (await run(["sh", "-c", "kill -TERM $$"], timeout_s=PATIENCE_S)).exit_code == -15


class _Gone(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.over = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over.set()


@on_each_loop
async def test_each_end_of_a_pipe_is_closed_and_by_one_owner():
    (out, theirs), child = os.pipe(), _Gone()
    transport = ForkedTransport(child, os.getpid(), {1: out})
    await transport.connect()
    pipe = transport.get_pipe_transport(1)
    assert pipe
    file = pipe.get_extra_info("pipe")
    os.close(theirs)
    transport.exited(0)
    await child.over.wait()
    await eventually(lambda: not Path(f"/proc/self/fd/{out}").exists(), "the pipe is left open")
    # uvloop closes the number and then the file: were that its owner, it would close what has the number by now.
    assert file.closefd is isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)


@on_each_loop
async def test_a_child_sees_only_the_environment_it_is_given():
    done = await run(["/usr/bin/env"], timeout_s=PATIENCE_S, env={"ONLY": "this"})
    assert done.stdout == "ONLY=this\n"


@on_each_loop
async def test_a_child_that_leads_its_own_session_cannot_be_reached_by_the_terminal():
    done = await run(["sh", "-c", "ps -o sid= -p $$; echo $$"], timeout_s=PATIENCE_S)
    session, pid = done.stdout.split()
    assert session == pid


@on_each_loop
async def test_a_missing_program_is_a_sentence():
    with pytest.raises(ProcessError, match=r"no-such-program .*No such file"):
        await run(["/nonexistent/no-such-program"], timeout_s=PATIENCE_S)


@on_each_loop
async def test_a_file_that_may_not_be_run_is_a_sentence(tmp_path: Path):
    file = tmp_path / "data"
    file.write_text("x")
    with pytest.raises(ProcessError, match=r"data .*Permission denied"):
        await run([str(file)], timeout_s=PATIENCE_S)


@on_each_loop
async def test_a_null_character_is_refused_before_anything_starts():
    with pytest.raises(ProcessError, match=r"true .*NUL"):
        await run(["true", "a\0b"], timeout_s=PATIENCE_S)
    with pytest.raises(ProcessError, match=r"true .*NUL"):
        await run(["true"], timeout_s=PATIENCE_S, env={"NAME": "a\0b"})


@on_each_loop
async def test_a_too_long_argument_is_a_sentence():
    with pytest.raises(ProcessError, match=r"true .*: Argument list too long"):
        await run(["/bin/true", "x" * 5_000_000], timeout_s=PATIENCE_S)


@on_each_loop
async def test_a_directory_that_is_not_there_is_told_apart_from_the_program(tmp_path: Path):
    (tmp_path / "file").touch()
    for cwd, reason in ((tmp_path / "gone", "No such file"), (tmp_path / "file", "Not a directory")):
        with pytest.raises(ProcessError, match=rf"true .*{re.escape(str(cwd))}: {re.escape(reason)}") as error:
            await run(["true"], timeout_s=PATIENCE_S, cwd=cwd)
        assert error.value.hint


async def test_a_supervised_command_that_is_too_long_is_called_by_its_own_name():
    with pytest.raises(ProcessError, match=r"^/bin/true .*: Argument list too long"):
        async with streaming(["/bin/true", "x" * 5_000_000], lambda *_: None, supervised=True):
            pass


@on_each_loop
async def test_a_child_that_is_too_slow_is_killed_with_everything_it_started(tmp_path: Path):
    started = tmp_path / "grandchild"
    script = f"trap '' TERM; sleep 60 & echo $! > {started}; wait"
    for timeout_s in LIMITS_S:
        with pytest.raises(ProcessTimeoutError, match=rf"^sh .*{timeout_s} s"):
            await run(["sh", "-c", script], timeout_s=timeout_s)
        if started.exists() and started.read_text():  # a busy machine may take longer to get that far
            break
    assert await gone(await pid_in(started))


@on_each_loop
async def test_a_stopped_child_is_killed_too():
    with pytest.raises(ProcessTimeoutError):
        await run(["sh", "-c", "kill -STOP $$"], timeout_s=0.2)


@on_each_loop
async def test_cancelling_kills_the_child_and_everything_it_started(tmp_path: Path):
    started, leader = tmp_path / "grandchild", tmp_path / "leader"
    script = f"echo $$ > {leader}; sleep 60 & echo $! > {started}; wait"
    task = asyncio.create_task(run(["sh", "-c", script], timeout_s=60))
    pids = [await pid_in(leader), await pid_in(started)]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [await gone(pid) for pid in pids] == [True, True]


@on_each_loop
async def test_cancelling_at_any_moment_of_the_start_leaves_nothing(tmp_path: Path):
    before = children()
    for moment in range(12):
        leader = tmp_path / f"leader{moment}"
        task = asyncio.create_task(run(["sh", "-c", f"echo $$ > {leader}; exec sleep 60"], timeout_s=60))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert children() == before


@on_each_loop
async def test_cancelling_twice_at_any_moment_leaves_nothing():
    before = children()
    for moment in range(12):
        task = asyncio.create_task(run(["sleep", "60"], timeout_s=60))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert children() == before


@on_each_loop
async def test_cancelling_twice_while_it_runs_leaves_nothing(tmp_path: Path):
    leader = tmp_path / "leader"
    task = asyncio.create_task(run(["sh", "-c", f"echo $$ > {leader}; exec sleep 60"], timeout_s=60))
    pid = await pid_in(leader)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


@on_each_loop
async def test_a_time_limit_around_the_call_ends_the_child():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await run(["sleep", "86400"], timeout_s=86_400)


@on_each_loop
async def test_what_a_child_left_in_the_background_does_not_outlive_it_or_hold_up_the_caller(tmp_path: Path):
    started = tmp_path / "background"
    done = await run(["sh", "-c", f"sleep 86400 & echo $! > {started}; echo done"], timeout_s=86_400)
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert await gone(await pid_in(started))


@on_each_loop
async def test_a_daemon_that_left_the_group_and_keeps_the_output_open_holds_nobody_up(tmp_path: Path):
    started = tmp_path / "daemon"
    script = f"setsid sh -c 'echo $$ > {started}; exec sleep 86400' & while ! [ -s {started} ]; do :; done; echo done"
    done = await run(["sh", "-c", script], timeout_s=PATIENCE_S)
    assert (done.exit_code, done.stdout) == (0, "done\n")
    os.kill(await pid_in(started), 9)


@on_each_loop
async def test_a_child_that_never_reads_its_input_is_no_error():
    assert (await run(["true"], timeout_s=PATIENCE_S, stdin="x" * 5_000_000)).exit_code == 0


@on_each_loop
async def test_a_child_that_lives_on_without_reading_its_input_is_still_timed_out():
    with pytest.raises(ProcessTimeoutError):
        await run(["sleep", "60"], timeout_s=0.2, stdin="x" * 5_000_000)


@on_each_loop
async def test_a_child_that_closes_its_input_early_is_no_error():
    done = await run(["sh", "-c", "exec <&-; sleep 0.1; echo done"], timeout_s=PATIENCE_S, stdin="x" * 5_000_000)
    assert done.stdout == "done\n"


@on_each_loop
async def test_without_input_the_child_reads_the_end_at_once():
    assert (await run(["cat"], timeout_s=PATIENCE_S)).stdout == ""


@on_each_loop
async def test_all_of_a_long_input_and_output_passes():
    text = "0123456789" * 90_000
    assert (await run(["cat"], timeout_s=PATIENCE_S, stdin=text)).stdout == text


@on_each_loop
async def test_output_beyond_the_limit_is_read_and_thrown_away():
    done = await run(["sh", "-c", "head -c 5000000 /dev/zero; echo end >&2"], timeout_s=PATIENCE_S)
    assert len(done.stdout) == MAX_OUTPUT_BYTES
    assert (done.exit_code, done.stderr) == (0, "end\n")


@on_each_loop
async def test_a_child_that_prints_without_end_is_timed_out():
    with pytest.raises(ProcessTimeoutError):
        await run(["yes"], timeout_s=0.3)


@on_each_loop
async def test_output_that_is_no_text_is_shown_as_far_as_it_is():
    done = await run(["printf", r"a\377b"], timeout_s=PATIENCE_S)
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}b"


@on_each_loop
async def test_many_children_at_once_do_not_mix():
    done = await asyncio.gather(*(run(["cat"], timeout_s=PATIENCE_S, stdin=str(n)) for n in range(30)))
    assert [one.stdout for one in done] == [str(n) for n in range(30)]
