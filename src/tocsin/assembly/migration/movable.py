"""Move records from one store into another, so that a kill at any point loses none and doubles none."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

R = TypeVar("R")

BATCH = 500


class Movable(Protocol[R]):
    """One kind of records of a store, while no service works on it."""

    async def count(self) -> int:
        """Return how many there are to move."""
        ...

    async def oldest(self, limit: int) -> Sequence[R]:
        """Return the first ones in order, those that were not removed yet."""
        ...

    async def take_in(self, records: Sequence[R]) -> None:
        """Store records behind those that are there; one that is known already stays as it is."""
        ...

    async def remove(self, records: Sequence[R]) -> None:
        """Remove records that another store has now."""
        ...


class Move(Generic[R]):
    """The way of one kind of records; running it again continues it."""

    def __init__(self, what: str, source: Movable[R], target: Movable[R]) -> None:
        self.what = what
        self._source = source
        self._target = target

    async def count(self) -> int:
        """Return how many are left."""
        return await self._source.count()

    async def run(self, on_progress: Callable[[int], None]) -> int:
        """Move all; call back with how many have been moved so far, and return that."""
        moved = 0
        while count := await self.step():
            moved += count
            on_progress(moved)
        return moved

    async def step(self) -> int:
        """Move the first records, and return how many."""
        records = await self._source.oldest(BATCH)
        if records:
            await self._target.take_in(records)
            # Only what the other store has for certain goes away here.
            await self._source.remove(records)
        return len(records)
