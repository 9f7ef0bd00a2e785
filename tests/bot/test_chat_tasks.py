"""Work that a person can cancel."""

import asyncio

import pytest

from tocsin.bot.chat_tasks import ChatTasks, TaskCancelledError


async def started(jobs: ChatTasks, work, id: str = "job") -> asyncio.Task[object]:
    async def run() -> object:
        with jobs.running("7", id):
            return await work()

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    return task


async def test_a_cancelled_job_ends_with_an_error_of_its_own_and_its_task_goes_on():
    jobs, after = ChatTasks(), []

    async def run() -> None:
        try:
            with jobs.running("7", "job"):
                await asyncio.Event().wait()
        except TaskCancelledError:
            await asyncio.sleep(0)
            after.append("told")

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    assert jobs.cancel("7") == 1
    await task
    assert after == ["told"]
    assert task.cancelling() == 0
    assert len(jobs) == 0


async def swallow() -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "an answer all the same"
    return ""


async def disguise() -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ValueError("the connection broke") from None
    return ""


@pytest.mark.parametrize("work", [swallow, disguise])
async def test_a_library_that_takes_the_cancellation_for_something_else_changes_nothing(work):
    jobs = ChatTasks()
    task = await started(jobs, work)
    jobs.cancel("7")
    with pytest.raises(TaskCancelledError):
        await task
    assert task.cancelling() == 0


async def test_the_end_of_the_program_wins_over_a_person():
    jobs = ChatTasks()
    task = await started(jobs, asyncio.Event().wait)
    jobs.cancel("7")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_job_is_cancelled_once_and_only_in_its_own_chat():
    jobs = ChatTasks()
    one, two = await started(jobs, asyncio.Event().wait, "one"), await started(jobs, asyncio.Event().wait, "two")
    assert [jobs.cancel("8"), jobs.cancel("7", "three"), jobs.cancel("7", "one"), jobs.cancel("7", "one")] == [
        0,
        0,
        1,
        0,
    ]
    assert jobs.cancel("7") == 1
    assert {type(end) for end in await asyncio.gather(one, two, return_exceptions=True)} == {TaskCancelledError}


async def test_a_failure_of_a_job_is_its_own():
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await (await started(ChatTasks(), fail))
