"""The end of something that runs until it is told to stop: whatever it waits for is given up then."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# What is given up may still close its connection; what swallows its cancellation is left behind.
GIVING_UP_S = 1.0


class StopEvent:
    """Set once, from the same event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Stop."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether it is time to stop."""
        return self._event.is_set()

    async def or_done(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` returns, or nothing when the halt comes first; then `work` is cancelled."""
        working, halted = asyncio.ensure_future(work), asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((working, halted), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            await _give_up(working, halted)


async def _give_up(*tasks: asyncio.Future[Any]) -> None:
    given_up = [task for task in tasks if task.cancel()]
    if not given_up:
        return
    done, _ = await asyncio.wait(given_up, timeout=GIVING_UP_S)
    for task in done:
        if not task.cancelled():
            task.exception()  # looked at, so that nobody reports it as forgotten
