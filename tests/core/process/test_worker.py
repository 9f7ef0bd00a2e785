"""Processes that stay: answers, limits and ends."""

import asyncio
import sys

import pytest

from tocsin.core.process.starting import ProcessTimeoutError
from tocsin.core.process.worker import WorkerEndedError, WorkerPool, WorkersBusyError

ECHO = """
import sys
for line in sys.stdin:
    if "end" in line:
        break
    if "wait" not in line:
        print("no JSON\\n" if "garbage" in line else line, end="", flush=True)
"""


def pool(**limits: float) -> WorkerPool:
    given = {"size": 1, "idle_s": 60.0, "wait_s": 60.0, **limits}
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


async def test_who_finds_all_processes_busy_for_too_long_asks_nothing():
    workers = pool(wait_s=0.01)
    async with workers.lend():
        with pytest.raises(WorkersBusyError):
            async with workers.lend():
                pass
