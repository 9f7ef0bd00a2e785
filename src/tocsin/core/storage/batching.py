"""Many callers, one call: what comes in while a batch is worked off makes the next batch."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Batcher(Generic[T]):
    """Hands items to `work` in batches; each caller waits for the end of its own item.

    `work` returns for every item what went wrong with it, or nothing.
    """

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[Sequence[Exception | None]]]) -> None:
        self._work = work
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def add(self, item: T) -> None:
        """Return when `item` has been worked off; raise what went wrong with it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._worker is None:
            # A task of its own: the caller that happens to come first may be cancelled.
            self._worker = asyncio.create_task(self._work_off())
        await done

    async def _work_off(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                _tell(batch, await self._outcomes([item for item, _ in batch]))
        finally:
            self._worker = None

    async def _outcomes(self, items: Sequence[T]) -> Sequence[Exception | None]:
        try:
            return await self._work(items)
        except Exception as error:  # noqa: BLE001  # raised in every caller of the batch
            return [error] * len(items)


def _tell(batch: Sequence[tuple[T, asyncio.Future[None]]], outcomes: Sequence[Exception | None]) -> None:
    for (_, done), error in zip(batch, outcomes, strict=True):
        if done.done():
            continue  # its caller has gone
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
