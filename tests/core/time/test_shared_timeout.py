"""A limit that many pieces of work share does to each what asyncio.timeout would."""

import asyncio

import pytest

from tocsin.core.time.shared_timeout import SharedTimeout


async def forever() -> None:
    await asyncio.Event().wait()


async def limited(shared: SharedTimeout) -> None:
    with shared.limit():
        await forever()


async def test_work_that_outlasts_its_limit_ends_with_timeout_error_and_its_task_goes_on():
    shared = SharedTimeout(0.001)
    for _ in range(2):  # the second one needs a timer of its own
        with pytest.raises(TimeoutError):
            await limited(shared)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_each_of_several_pieces_of_work_ends_and_none_that_is_done_does():
    shared = SharedTimeout(0.001)
    tasks = [asyncio.create_task(limited(shared)) for _ in range(3)]
    with shared.limit():
        pass  # done in time: what comes later must not be cancelled
    assert [type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)] == [TimeoutError] * 3


async def test_who_is_cancelled_by_somebody_else_stays_cancelled():
    task = asyncio.create_task(limited(SharedTimeout(3600)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_by_somebody_else_and_by_the_limit_stays_cancelled():
    limit = SharedTimeout(3600).limit()

    async def work() -> None:
        with limit:
            limit.expire()
            await forever()

    task = asyncio.create_task(work())
    asyncio.get_running_loop().call_soon(task.cancel)  # after the first step of the task
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_itself_is_raised_as_it_is():
    with pytest.raises(ValueError, match="own"), SharedTimeout(3600).limit():
        raise ValueError("own")


def test_the_same_limits_serve_one_event_loop_after_another():
    shared = SharedTimeout(0.001)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            asyncio.run(limited(shared))


async def test_a_limit_outside_a_task_is_refused():
    caught: list[BaseException] = []

    def outside() -> None:
        try:
            with SharedTimeout(1).limit():
                pass
        except RuntimeError as error:
            caught.append(error)

    asyncio.get_running_loop().call_soon(outside)
    await asyncio.sleep(0)
    assert str(caught[0]) == "a time limit needs a task that it can cancel"
