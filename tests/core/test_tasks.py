"""Tasks that end together: their results, their first error, and that none goes on."""

import asyncio

import pytest

from tocsin.core.errors import ConfigError
from tocsin.core.tasks import FirstErrorGroup, run_concurrently


async def test_results_come_in_the_order_of_the_works_whichever_ends_first():
    first_may_end = asyncio.Event()

    async def first() -> int:
        await first_may_end.wait()
        return 1

    async def second() -> int:
        first_may_end.set()
        return 2

    assert await run_concurrently([first(), second()]) == [1, 2]
    assert await run_concurrently([]) == []


async def test_the_first_error_is_raised_alone_once_all_others_have_ended():
    begun, ended = asyncio.Event(), []

    async def fail() -> None:
        await begun.wait()
        raise ConfigError("a mistake")

    async def go_on() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    with pytest.raises(ConfigError, match="a mistake"):
        await run_concurrently([fail(), go_on()])
    assert ended == ["ended"]


async def test_a_group_inside_a_group_raises_one_error():
    async def fail() -> None:
        async with asyncio.TaskGroup():
            raise ConfigError("deep inside")

    with pytest.raises(ConfigError, match="deep inside"):
        async with FirstErrorGroup() as group:
            group.create_task(fail())
