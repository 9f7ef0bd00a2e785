"""Stored documents of channels, such as keys and devices, as movable records."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.document import SqliteDocument
from tocsin.core.storage.documents.redis_document import KEY_PREFIX, RedisDocument
from tocsin.core.storage.redis_client import RedisClient


class MovedDocument(NamedTuple):
    """The name of a document and its text."""

    name: str
    text: str


class SqliteDocuments:
    """The documents in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self) -> int:
        return len(await self.oldest(-1))

    async def oldest(self, limit: int) -> list[MovedDocument]:
        sql = "SELECT name, text FROM documents ORDER BY name LIMIT ?"
        return await self._database.read(lambda c: [MovedDocument(*row) for row in c.execute(sql, [limit])])

    async def take_in(self, records: Sequence[MovedDocument]) -> None:
        for name, text in records:
            await SqliteDocument(self._database, name).change(partial(_unless_known, text))

    async def remove(self, records: Sequence[MovedDocument]) -> None:
        names = [[name] for name, _ in records]
        await self._database.execute_many("DELETE FROM documents WHERE name = ?", names)


class RedisDocuments:
    """The documents in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def count(self) -> int:
        return len(await self._names())

    async def oldest(self, limit: int) -> list[MovedDocument]:
        names = (await self._names())[:limit]
        return [MovedDocument(name, await RedisDocument(self._client, name).read()) for name in names]

    async def take_in(self, records: Sequence[MovedDocument]) -> None:
        for name, text in records:
            await RedisDocument(self._client, name).change(partial(_unless_known, text))

    async def remove(self, records: Sequence[MovedDocument]) -> None:
        for name, _ in records:
            await self._client.command("DEL", f"{KEY_PREFIX}{name}")

    async def _names(self) -> list[str]:
        found = [key.decode() async for keys in self._client.scan(f"{KEY_PREFIX}*") for key in keys]
        return sorted({key.removeprefix(KEY_PREFIX) for key in found})


def _unless_known(text: str, known: str) -> str:
    return known or text
