"""Items that come in together are worked off together, and each caller hears of its own."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from tocsin.delivery.sqlite.batching import Batcher, Outcomes


class Office:
    """Works when it is told to, and refuses what is negative."""

    def __init__(self, *, pause_s: float = 0.0) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.broken = False
        self.batcher: Batcher[int] = Batcher(self.work, pause_s=pause_s)

    def work(self, items: Sequence[int], done: Callable[[Outcomes], None]) -> None:
        self.batches.append(list(items))
        self.working = asyncio.create_task(self.end_at_the_word(items, done))

    async def end_at_the_word(self, items: Sequence[int], done: Callable[[Outcomes], None]) -> None:
        await self.open.wait()
        if self.broken:
            done(OSError("closed"))
        else:
            done([ValueError(str(item)) if item < 0 else None for item in items])


@pytest.fixture
def office() -> Office:
    return Office()


async def start(office: Office, *items: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(office.batcher.add(item)) for item in items]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_what_comes_in_while_a_batch_is_worked_off_makes_the_next_batch(office: Office):
    first = await start(office, 1)
    rest = await start(office, 2, 3)
    office.open.set()
    await asyncio.gather(*first, *rest)
    assert office.batches == [[1], [2, 3]]


async def test_each_caller_hears_of_its_own_item_alone(office: Office):
    office.open.set()
    good, bad = await start(office, 1, -1)
    await good
    with pytest.raises(ValueError, match="-1"):
        await bad


async def test_a_failure_of_the_work_is_told_to_every_caller_of_the_batch_and_the_next_batch_works(office: Office):
    office.broken = True
    tasks = await start(office, 1, 2, 3)
    office.open.set()
    for task in tasks:
        with pytest.raises(OSError, match="closed"):
            await task
    office.broken = False
    await office.batcher.add(4)
    assert office.batches == [[1], [2, 3], [4]]


async def test_a_caller_that_leaves_takes_nobody_with_it(office: Office):
    leaving, staying = await start(office, 1, 2)
    leaving.cancel()
    office.open.set()
    await staying
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_work_that_cannot_begin_is_told_to_its_caller():
    def refuse(items: Sequence[int], done: Callable[[Outcomes], None]) -> None:
        raise OSError("closed")

    with pytest.raises(OSError, match="closed"):
        await Batcher(refuse).add(1)


async def test_after_a_large_batch_the_next_one_waits_for_more_and_after_a_small_one_begins_at_once():
    office = Office(pause_s=3600)
    office.open.set()
    await asyncio.gather(*await start(office, 1, 2, 3, 4))
    assert office.batches == [[1], [2, 3, 4]]
    await asyncio.gather(*await start(office, 5, 6, 7, 8, 9))
    assert office.batches[2:] == [[5], [6, 7, 8, 9]]
    waiting = await start(office, 10)
    assert office.batches[4:] == []
    for task in waiting:
        task.cancel()


async def test_what_waits_for_more_begins_when_the_pause_is_over():
    office = Office(pause_s=0.001)
    office.open.set()
    await asyncio.gather(*await start(office, 1, 2, 3, 4, 5))
    await asyncio.gather(*await start(office, 6, 7))
    # Together, or one after the other where the pause was over before they came.
    assert [item for batch in office.batches[2:] for item in batch] == [6, 7]
