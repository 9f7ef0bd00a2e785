"""Move open events, dedupe keys and cursors into and out of the inbox in Redis."""

from collections.abc import Sequence

from tocsin.core.storage.redis_client import Argument, RedisClient
from tocsin.core.storage.redis_time import TimedScripts, micro
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.moving import MovedCursor, MovedDedupeKey, MovedEvent
from tocsin.messaging.inbound.redis import scripts

_PREFIX = "{tocsin:inbox}:"
_OPEN = ("new", "working", "replying")


class RedisEvents:
    """The events that are not handled yet."""

    def __init__(self, client: RedisClient, clock: Clock) -> None:
        self._client = client
        self._prefix = _PREFIX
        self._scripts = TimedScripts(client, self._prefix.encode(), clock)

    async def count(self) -> int:
        return sum([await self._client.command("ZCARD", f"{self._prefix}status:{status}") for status in _OPEN])

    async def oldest(self, limit: int) -> list[MovedEvent]:
        numbers: list[int] = []
        for status in _OPEN:
            found = await self._client.command("ZRANGE", f"{self._prefix}status:{status}", 0, limit - 1)
            numbers += map(int, found)
        return [await self._read(number) for number in sorted(numbers)[:limit]]

    async def _read(self, number: int) -> MovedEvent:
        found = await self._client.command("HGETALL", f"{self._prefix}e:{number}")
        row = {name.decode(): value.decode() for name, value in found.items()}
        return MovedEvent(
            *(row["id"], row["channel"], row["chat"], row["kind"], int(row["urgent"]), row["status"]),
            *(row.get("message"), float(row["accepted_at"]), int(row.get("attempts", 0))),
            *(row.get("ending", ""), row.get("reason", ""), row.get("replies")),
        )

    async def take_in(self, records: Sequence[MovedEvent]) -> None:
        args: list[Argument] = []
        for one in records:
            body, replies = one.message or "", one.replies or ""
            args += [one.id, one.channel, one.chat, one.kind, one.urgent, one.status, body, repr(one.accepted_at)]
            args += [one.attempts, one.ending, one.reason, replies]
        await self._scripts.run(scripts.TAKE_IN, args)

    async def remove(self, records: Sequence[MovedEvent]) -> None:
        await self._scripts.run(scripts.REMOVE, [one.id for one in records])


class RedisDedupeKeys:
    """The dedupe keys, by which repeated events are recognised."""

    def __init__(self, client: RedisClient, clock: Clock) -> None:
        self._client = client
        self._prefix = _PREFIX
        self._scripts = TimedScripts(client, self._prefix.encode(), clock)

    async def count(self) -> int:
        return sum([await self._client.command("ZCARD", self._of(channel)) for channel in await self._channels()])

    async def oldest(self, limit: int) -> list[MovedDedupeKey]:
        for channel in await self._channels():
            (rows,) = await self._scripts.run(scripts.KEY_AGES, [channel, limit])
            if rows:
                pairs = zip(rows[::2], rows[1::2], strict=True)
                return [MovedDedupeKey(channel, key.decode(), max(0, int(age)) / 1e6) for key, age in pairs]
        return []

    async def take_in(self, records: Sequence[MovedDedupeKey]) -> None:
        words: list[Argument] = [word for one in records for word in (one.channel, one.key, micro(one.age_s))]
        await self._scripts.run(scripts.TAKE_KEYS, words)

    async def remove(self, records: Sequence[MovedDedupeKey]) -> None:
        for channel in {one.channel for one in records}:
            keys = [one.key for one in records if one.channel == channel]
            await self._client.command("ZREM", self._of(channel), *keys)

    async def _channels(self) -> list[str]:
        return sorted(name.decode() for name in await self._client.command("SMEMBERS", f"{self._prefix}channels"))

    def _of(self, channel: str) -> str:
        return f"{self._prefix}keys:{channel}"


class RedisCursors:
    """The positions at which polling continues."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._name = f"{_PREFIX}cursors"

    async def count(self) -> int:
        return len(await self._client.command("HGETALL", self._name))

    async def oldest(self, limit: int) -> list[MovedCursor]:
        found = await self._client.command("HGETALL", self._name)
        return [MovedCursor(name.decode(), int(position)) for name, position in sorted(found.items())[:limit]]

    async def take_in(self, records: Sequence[MovedCursor]) -> None:
        for one in records:
            await self._client.command("HSET", self._name, one.name, one.position)

    async def remove(self, records: Sequence[MovedCursor]) -> None:
        for one in records:
            await self._client.command("HDEL", self._name, one.name)
