"""Child processes whose output is handed on as it comes, and that can be asked to end."""

import asyncio
from pathlib import Path

import pytest
from tests.core.process.test_starting import alive, gone, on_each_loop, pid_in
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.errors import ProcessError
from tocsin.core.process.starting import kill_group, run, streaming
from tocsin.core.process.tree import list_tree

Output = list[tuple[str, bytes]]


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


@on_each_loop
async def test_output_arrives_while_the_child_runs_with_its_stream_and_in_order(tmp_path: Path):
    output: Output = []
    arrived = asyncio.Event()

    def take(stream: str, data: bytes) -> None:
        output.append((stream, data))
        arrived.set()

    go = tmp_path / "go"
    script = f"echo one; while ! [ -e {go} ]; do sleep 0.01; done; echo two >&2; exit 3"
    async with streaming(sh(script), take) as child:
        await arrived.wait()
        assert output == [("stdout", b"one\n")]
        go.touch()
        assert await child.wait() == 3
    assert output == [("stdout", b"one\n"), ("stderr", b"two\n")]


@on_each_loop
async def test_input_and_folder_are_the_childs(tmp_path: Path):
    output: Output = []
    async with streaming(sh("pwd; cat"), lambda *o: output.append(o), stdin="text", cwd=tmp_path) as child:
        assert await child.wait() == 0
    assert b"".join(data for _, data in output) == f"{tmp_path}\ntext".encode()


@on_each_loop
async def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path):
    with pytest.raises(ProcessError, match="No such file"):
        async with streaming(sh("true"), lambda *_: None, cwd=tmp_path / "no"):
            pass
    with pytest.raises(ProcessError, match="No such file"):
        await run(sh("true"), timeout_s=5, cwd=tmp_path / "no")


@on_each_loop
async def test_a_child_that_is_asked_to_end_can_put_things_away(tmp_path: Path):
    ready = tmp_path / "ready"
    script = f"trap 'echo bye; exit 5' TERM; echo $$ > {ready}; while :; do sleep 0.01; done"
    output: Output = []
    async with streaming(sh(script), lambda *o: output.append(o)) as child:
        await pid_in(ready)
        child.stop(30)
        assert await child.wait() == 5
    assert ("stdout", b"bye\n") in output


@on_each_loop
async def test_a_child_that_ignores_the_request_is_killed_with_its_group(tmp_path: Path):
    ready, below = tmp_path / "ready", tmp_path / "below"
    script = f"trap '' TERM; sleep 60 & echo $! > {below}; echo $$ > {ready}; wait; sleep 60"
    async with streaming(sh(script), lambda *_: None) as child:
        await pid_in(ready)
        child.stop(0.05)
        assert await child.wait(PATIENCE_S) == -9
    assert await gone(await pid_in(below))


@on_each_loop
async def test_asking_twice_takes_the_shorter_time():
    async with streaming(sh("trap '' TERM; echo; sleep 60"), lambda *_: None) as child:
        child.stop(60)
        child.stop(0.01)
        assert await child.wait(PATIENCE_S) == -9 or await child.wait(PATIENCE_S) == -15


@on_each_loop
async def test_a_wrapper_is_not_asked_but_what_it_wraps(tmp_path: Path):
    ready = tmp_path / "ready"
    inner = f"trap 'echo bye; exit 0' TERM; echo $$ > {ready}; while :; do sleep 0.01; done"
    output: Output = []
    wrapper = ["sh", "-c", 'setsid sh -c "$1"; echo wrapped $?; exit 7', "w", inner]
    async with streaming(wrapper, lambda *o: output.append(o), wrapped=True) as child:
        await pid_in(ready)
        child.stop(30)
        assert await child.wait() == 7
    assert b"".join(data for stream, data in output if stream == "stdout") == b"bye\nwrapped 0\n"


@on_each_loop
async def test_leaving_the_block_kills_what_is_left(tmp_path: Path):
    below = tmp_path / "below"
    async with streaming(sh(f"sleep 60 & echo $! > {below}; wait"), lambda *_: None) as child:
        pids = [child.pid, await pid_in(below)]
    assert [await gone(pid) for pid in pids] == [True, True]


@on_each_loop
async def test_output_without_end_leaves_time_for_everything_else():
    size, turns = 0, 0

    def take(_: str, data: bytes) -> None:
        nonlocal size
        size += len(data)

    async with streaming(["yes"], take) as child:
        async with asyncio.timeout(PATIENCE_S):
            while size < 12 * 1024 * 1024:
                await asyncio.sleep(0.01)  # it counts that it gets its turn
                turns += 1
        assert await child.wait(0) is None
    assert turns >= 2  # 12 MiB take at least two pauses, and whoever is due gets a turn in each, however late


@on_each_loop
async def test_a_child_that_is_slowed_down_is_read_to_its_end():
    size = 0

    def take(_: str, data: bytes) -> None:
        nonlocal size
        size += len(data)

    async with streaming(sh("head -c 20000000 /dev/zero"), take) as child:
        assert await child.wait() == 0
    assert size == 20_000_000


async def test_a_tree_has_the_leader_its_descendants_and_its_session(tmp_path: Path):
    left, below = tmp_path / "left", tmp_path / "below"
    script = f"(sleep 60 & echo $! > {left}); setsid sh -c 'echo $$ > {below}; exec sleep 60' & wait"
    async with streaming(sh(script), lambda *_: None) as child:
        pids = {child.pid, await pid_in(left), await pid_in(below)}
        # The shell around the first one takes a moment to end.
        await eventually(lambda: {process.pid for process in list_tree(child.pid)} == pids)
        assert all(process.resident_bytes >= 0 for process in list_tree(child.pid))
        child.kill()
        await child.wait()
        assert alive(await pid_in(below))  # it left the group and is nobody's any more
        kill_group(await pid_in(below))


def test_killing_a_group_that_is_gone_is_nothing():
    kill_group(2**22 + 1)
