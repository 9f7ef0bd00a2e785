"""Processes that stay: answers, limits and ends."""

import asyncio
import sys
from pathlib import Path

import pytest

from tocsin.core.process.starting import ProcessTimeoutError
from tocsin.core.process.worker import WorkerEndedError, WorkerNotReadyError, WorkerPool

ECHO = """
import sys
for line in sys.stdin:
    if "end" in line:
        break
    if "wait" not in line:
        print("no JSON\\n" if "garbage" in line else line, end="", flush=True)
"""


def pool(**limits: float) -> WorkerPool:
    given = {"size": 1, "idle_s": 60.0, "start_s": 60.0, **limits}
    return WorkerPool((sys.executable, "-I", "-c", ECHO), {}, **given)  # type: ignore[arg-type]


async def test_a_process_answers_one_request_after_the_other():
    workers = pool()
    for number in range(3):
        async with workers.lend() as worker:
            assert await worker.ask({"number": number}, 60.0) == {"number": number}
    assert workers.idle == [worker.pid]


@pytest.mark.parametrize("word", ["end", "garbage"])
async def test_a_process_that_gives_no_answer_is_replaced(word: str):
    workers = pool()
    with pytest.raises(WorkerEndedError):
        async with workers.lend() as worker:
            await worker.ask({"do": word}, 60.0)
    assert workers.idle == []
    async with workers.lend() as another:
        assert await another.ask({}, 60.0) == {}


async def test_a_process_that_does_not_answer_in_time_is_killed():
    workers = pool()
    with pytest.raises(ProcessTimeoutError):
        async with workers.lend() as worker:
            await worker.ask({"do": "wait"}, 0.01)
    assert (workers.idle, worker.ended) == ([], True)


async def test_a_cancelled_request_ends_its_process():
    workers = pool()

    async def ask() -> None:
        async with workers.lend() as worker:
            asked.set()
            await worker.ask({"do": "wait"}, 60.0)

    asked = asyncio.Event()
    task = asyncio.create_task(ask())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workers.idle == []


async def test_a_process_is_replaced_after_its_number_of_requests():
    workers = pool(max_requests=1)
    async with workers.lend() as worker:
        await worker.ask({}, 60.0)
    assert workers.idle == []


async def test_one_process_starts_at_a_time_and_one_that_becomes_free_meanwhile_is_used(tmp_path: Path):
    go = tmp_path / "go"
    program = (
        "import os, sys, time\n"
        "late = os.path.exists(sys.argv[1] + '.first')\n"
        "open(sys.argv[1] + '.first', 'w').close()\n"
        "while late and not os.path.exists(sys.argv[1]):\n    time.sleep(0.01)\n" + ECHO
    )
    workers = WorkerPool((sys.executable, "-I", "-c", program, str(go)), {}, size=4, idle_s=60.0, start_s=60.0)

    async def pid() -> int:
        async with workers.lend() as worker:
            return worker.pid

    async with workers.lend() as first:
        second, third, fourth = (asyncio.create_task(pid()) for _ in range(3))
        await asyncio.sleep(0)
    found, _ = await asyncio.wait([second, third, fourth], return_when=asyncio.FIRST_COMPLETED)
    assert {each.result() for each in found} == {first.pid}
    go.touch()
    assert len({await each for each in (second, third, fourth)} | {first.pid}) <= 2
    assert len(workers.idle) <= 2


@pytest.mark.parametrize("program", ["input(); exit(3)", "input(); input()"])
async def test_a_process_that_does_not_become_ready_was_asked_nothing(program: str):
    workers = WorkerPool((sys.executable, "-I", "-c", program), {}, size=1, idle_s=60.0, start_s=2.0)
    with pytest.raises(WorkerNotReadyError):
        async with workers.lend():
            pytest.fail("it was lent")
    assert workers.idle == []


async def test_a_program_that_is_missing_is_not_ready():
    with pytest.raises(WorkerNotReadyError, match="could not be started"):
        async with WorkerPool(("/nowhere",), {}, size=1, idle_s=60.0, start_s=60.0).lend():
            pytest.fail("it was lent")
