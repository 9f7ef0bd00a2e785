"""Move deliveries into and out of Redis."""

from collections.abc import Sequence
from typing import Any

from tocsin.core.storage.redis_client import Argument, RedisClient, Script, for_each
from tocsin.core.storage.redis_names import FormerNames
from tocsin.core.storage.redis_time import micro
from tocsin.core.time.clock import Clock
from tocsin.delivery.model import OPEN, Delivery, Policy
from tocsin.delivery.redis import scripts
from tocsin.delivery.redis.attached import note_files
from tocsin.delivery.redis.records import encode_constants, encode_key, encode_outcome, micro_or_none, to_delivery

READ_AT_ONCE = 5_000


class RedisDeliveries:
    """All deliveries of a Redis queue, in the order of their acceptance."""

    def __init__(self, client: RedisClient, clock: Clock, former: FormerNames) -> None:
        self._client = client
        self._clock = clock
        self._former = former
        self._prefix = b"{tocsin:delivery}:"
        self._left: list[bytes] | None = None  # members of the index, which begin with the order of acceptance

    async def count(self) -> int:
        await self._former.take_over()
        return int(await self._client.command("ZCARD", self._prefix + b"all"))

    async def oldest(self, limit: int) -> list[Delivery]:
        if self._left is None:
            self._left = sorted(await self._members())
        found = await for_each(lambda member: self._ask(scripts.GET, [member[12:]]), self._left[:limit])
        return [to_delivery(pairs) for pairs in found if pairs]

    async def take_in(self, records: Sequence[Delivery]) -> None:
        args: list[Argument] = ["", micro(self._clock.now())]
        for delivery in records:
            args += self._words(delivery)
        await note_files(self._client, self._prefix, records)
        await self._ask(scripts.TAKE_IN, args)

    async def remove(self, records: Sequence[Delivery]) -> None:
        await self._ask(scripts.REMOVE, ["", micro(self._clock.now()), *(encode_key(one.id) for one in records)])
        gone = {encode_key(one.id) for one in records}
        self._left = [member for member in self._left or () if member[12:] not in gone]

    def _words(self, delivery: Delivery) -> list[Argument]:
        is_open = delivery.status in OPEN
        due = None if delivery.next_attempt_at is None else max(0.0, delivery.next_attempt_at - self._clock.now())
        finished = delivery.created_at if delivery.finished_at is None else delivery.finished_at
        return [
            *(delivery.id, encode_key(delivery.channel), encode_key(delivery.target), delivery.status),
            *(int(delivery.policy is Policy.AT_MOST_ONCE), encode_key(delivery.idempotency_key or "")),
            *(micro(delivery.created_at), micro_or_none(delivery.not_before), micro_or_none(delivery.expires_at)),
            *(micro_or_none(due if is_open else None), micro_or_none(None if is_open else finished)),
            *(encode_constants(delivery), encode_outcome(delivery), encode_key(delivery.key)),
            encode_key(delivery.thread),
        ]

    async def _members(self) -> list[bytes]:
        found: dict[bytes, None] = {}
        while True:
            last = len(found) + READ_AT_ONCE - 1
            members = await self._client.command("ZRANGE", self._prefix + b"all", len(found), last)
            found |= dict.fromkeys(members)
            if len(members) < READ_AT_ONCE:
                return list(found)

    async def _ask(self, script: Script, args: Sequence[Argument]) -> Any:
        await self._former.take_over()
        return await self._client.run(script, [self._prefix], args)
