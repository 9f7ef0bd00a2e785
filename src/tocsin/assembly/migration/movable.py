"""Move records from one store to another; a kill at any point loses and duplicates none."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

R = TypeVar("R")

BATCH = 500


class Movable(Protocol[R]):
    """The records of one kind in a store that no service uses."""

    async def count(self) -> int:
        """Return the number of records to move."""

    async def oldest(self, limit: int) -> Sequence[R]:
        """Return the first records in order."""

    async def take_in(self, records: Sequence[R]) -> None:
        """Store records after the existing ones; a known record stays unchanged."""

    async def remove(self, records: Sequence[R]) -> None:
        """Remove records that the other store has."""


class Move(Generic[R]):
    """The move of one kind of records; running it again continues it."""

    def __init__(self, what: str, source: Movable[R], target: Movable[R]) -> None:
        self.what = what
        self._source = source
        self._target = target

    async def count(self) -> int:
        """Return the number of records left."""
        return await self._source.count()

    async def run(self, on_progress: Callable[[int], None]) -> int:
        """Move all records; call `on_progress` with the number moved so far, and return it."""
        moved = 0
        while count := await self.step():
            moved += count
            on_progress(moved)
        return moved

    async def step(self) -> int:
        """Move up to `BATCH` records, and return how many."""
        records = await self._source.oldest(BATCH)
        if records:
            await self._target.take_in(records)
            # In this order: a kill in between leaves records in both stores, and the next move removes them here.
            await self._source.remove(records)
        return len(records)
