"""Move idempotency keys from one store into the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient, for_each
from tocsin.core.time.clock import Clock
from tocsin.messaging.outbound.idempotency import KEPT_S
from tocsin.messaging.outbound.redis_idempotency import TAKE_IN, former_keys, key_names

_DIGEST, _STATUS, _BODY = b"digest", b"status", b"body"


@dataclass(frozen=True, slots=True)
class MovedKey:
    """An idempotency key; without a status, its request was interrupted."""

    key: str
    digest: str
    status: int | None
    body: str
    age_s: float


class SqliteKeyRecords:
    """All keys in the database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def count(self) -> int:
        sql = "SELECT count(*) FROM idempotency"
        return int(await self._database.read(lambda connection: connection.execute(sql).fetchone()[0]))

    async def oldest(self, limit: int) -> list[MovedKey]:
        sql, now = "SELECT * FROM idempotency ORDER BY created_at LIMIT ?", self._clock.now()
        rows = await self._database.read(lambda connection: connection.execute(sql, [limit]).fetchall())
        return [
            MovedKey(row["key"], row["digest"], row["status"], row["body"] or "", max(0.0, now - row["created_at"]))
            for row in rows
        ]

    async def take_in(self, records: Sequence[MovedKey]) -> None:
        now = self._clock.now()
        rows = [
            [one.key, one.digest, one.status, one.body if one.status is not None else None, now - one.age_s]
            for one in records
        ]
        await self._database.execute_many("INSERT OR IGNORE INTO idempotency VALUES (?, ?, ?, ?, ?, 0)", rows)

    async def remove(self, records: Sequence[MovedKey]) -> None:
        await self._database.execute_many("DELETE FROM idempotency WHERE key = ?", [[one.key] for one in records])


class RedisKeyRecords:
    """All keys in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._former = former_keys(client)
        self._left: list[str] | None = None

    async def count(self) -> int:
        return len(await self._names())

    async def oldest(self, limit: int) -> list[MovedKey]:
        while names := (await self._names())[:limit]:
            if found := [one for one in await for_each(self._read, names) if one]:
                return found
            self._left = (self._left or [])[len(names) :]
        return []

    async def take_in(self, records: Sequence[MovedKey]) -> None:
        await for_each(self._store, records)

    async def _store(self, one: MovedKey) -> None:
        name, left_s = key_names(one.key)[0], round(KEPT_S - one.age_s)
        if left_s > 0:
            outcome = () if one.status is None else (one.status, one.body)
            await self._client.run(TAKE_IN, [name], [one.digest, left_s, *outcome])

    async def remove(self, records: Sequence[MovedKey]) -> None:
        await for_each(lambda one: self._client.command("DEL", *key_names(one.key)), records)
        gone = {key_names(one.key)[0] for one in records}
        self._left = [name for name in self._left or () if name not in gone]

    async def _names(self) -> list[str]:
        if self._left is None:
            await self._former.take_over()
            found = {name.decode() async for names in self._client.scan(key_names("*")[0]) for name in names}
            self._left = sorted(found)
        return self._left

    async def _read(self, name: str) -> MovedKey | None:
        found, left_s = await self._client.command("HGETALL", name), int(await self._client.command("TTL", name))
        if _DIGEST not in found:
            return None  # it has expired in the meantime
        status = int(found[_STATUS]) if _STATUS in found else None
        key = name[len(key_names("")[0]) - 1 : -1]
        return MovedKey(key, found[_DIGEST].decode(), status, found.get(_BODY, b"").decode(), max(0.0, KEPT_S - left_s))
