"""Move the contents of files, one after the other, in blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.delivery.files.store import FileStore


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A content, and the store that has it."""

    hash: str
    store: FileStore


class MovableFiles:
    """The contents of one store."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    async def count(self) -> int:
        return len(await self._store.hashes())

    async def oldest(self, limit: int) -> list[MovedFile]:
        return [MovedFile(hash_, self._store) for hash_ in sorted(await self._store.hashes())[:limit]]

    async def take_in(self, records: Sequence[MovedFile]) -> None:
        for record in records:
            await self._store.add(record.store.blocks(record.hash))

    async def remove(self, records: Sequence[MovedFile]) -> None:
        for record in records:
            await self._store.remove(record.hash)
