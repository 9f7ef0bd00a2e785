"""Group many calls: items that arrive during a batch form the next batch."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")
# A batch of this size means that many callers are active; a pause lets the next batch grow.
CROWD = 4
# The error of each item, None for success; or one error for all items.
Outcomes = Sequence[Exception | None] | Exception


class Batcher(Generic[T]):
    """Passes items to `submit` in batches; each caller waits for the result of its own item.

    `submit` starts the work and returns; at its end, it calls the given callback in the same event loop. After a batch
    of `CROWD` items or more, the next one begins at least `pause_s` later, so that more items share the fixed cost of a
    batch. A single caller never waits for others.
    """

    def __init__(
        self, submit: Callable[[Sequence[T], Callable[[Outcomes], None]], None], *, pause_s: float = 0.0
    ) -> None:
        self._submit = submit
        self._pause_s = pause_s
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._busy = False

    async def add(self, item: T) -> None:
        """Submit `item` and wait until it is done; raise its error."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if not self._busy:
            self._begin()
        await done

    def _begin(self) -> None:
        """Submit the waiting items. Callers only wait, so cancelling one does not affect the batch."""
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
                continue  # its caller was cancelled
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def _go_on(self) -> None:
        self._busy = False
        if self._waiting:
            self._begin()
