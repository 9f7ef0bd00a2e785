"""Many callers, one call: what comes in while a batch is worked off makes the next batch."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")
# A batch of this size means that many callers are at work; a pause lets the next one grow.
CROWD = 4
# What went wrong with each item, None where all is well; or what went wrong with all of them.
Outcomes = Sequence[Exception | None] | Exception


class Batcher(Generic[T]):
    """Hands items to `submit` in batches; each caller waits for the end of its own item.

    `submit` begins the work and returns; at its end, in the same event loop, it calls what it was given.
    After a batch of `CROWD` items or more, the next one begins no sooner than `pause_s` later: what a batch costs by
    itself is shared by more items. A caller that is alone never waits for others.
    """

    def __init__(
        self, submit: Callable[[Sequence[T], Callable[[Outcomes], None]], None], *, pause_s: float = 0.0
    ) -> None:
        self._submit = submit
        self._pause_s = pause_s
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._busy = False

    async def add(self, item: T) -> None:
        """Return when `item` has been worked off; raise what went wrong with it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if not self._busy:
            self._begin()
        await done

    def _begin(self) -> None:
        """Hand in what waits. Each caller only waits, so one that is cancelled takes none with it."""
        batch, self._waiting = self._waiting, []
        self._busy = True
        try:
            self._submit([item for item, _ in batch], partial(self._end, batch))
        except Exception as error:  # noqa: BLE001  # raised in every caller of the batch
            self._end(batch, error)

    def _end(self, batch: Sequence[tuple[T, asyncio.Future[None]]], outcomes: Outcomes) -> None:
        if self._pause_s and len(batch) >= CROWD:
            asyncio.get_running_loop().call_later(self._pause_s, self._go_on)
        else:
            self._go_on()
        errors = [outcomes] * len(batch) if isinstance(outcomes, Exception) else outcomes
        for (_, done), error in zip(batch, errors, strict=True):
            if done.done():
                continue  # its caller has gone
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def _go_on(self) -> None:
        self._busy = False
        if self._waiting:
            self._begin()
