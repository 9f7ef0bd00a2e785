"""The deliveries in Redis that have files: a sorted set of their IDs, by the time of their acceptance.

An ID is added before its delivery, so that a crash in between leaves an ID without a delivery, never the reverse.
"""

from collections.abc import Sequence
from typing import Any

from tocsin.core.storage.redis_client import Argument, RedisClient, for_each
from tocsin.delivery.model import OPEN, Delivery
from tocsin.delivery.redis.records import encode_key, known_deliveries

# A delivery is accepted within seconds after its ID was added.
UNKNOWN_FOR_S = 3_600.0


async def note_files(client: RedisClient, prefix: bytes, deliveries: Sequence[Delivery]) -> None:
    """Add the deliveries that have files, before they are stored."""
    words: list[Argument] = []
    for delivery in deliveries:
        if delivery.extra and delivery.content.get("attach"):
            words += [delivery.created_at, encode_key(delivery.id)]
    if words:
        await client.command("ZADD", prefix + b"attached", *words)


async def note_kept(client: RedisClient, prefix: bytes, id_: str, now: float) -> None:
    """Add a delivery that keeps the files of the message that it edits."""
    await client.command("ZADD", prefix + b"attached", now, encode_key(id_))


async def needed_files(client: RedisClient, prefix: bytes, since: float) -> frozenset[str]:
    """Return the hashes as `DeliveryStore.needed_files` does, and remove the IDs of deliveries that are gone."""
    found: set[str] = set()
    pairs: Any = await client.command("ZRANGE", prefix + b"attached", 0, -1, "WITHSCORES")
    ids = {bytes(id_): float(at) for id_, at in zip(pairs[::2], pairs[1::2], strict=True)}

    async def load(id_: bytes) -> dict[bytes, bytes]:
        return await client.command("HGETALL", prefix + b"d:" + id_)  # type: ignore[no-any-return]  # as it says

    gone = []
    for id_, record in zip(ids, await for_each(load, list(ids)), strict=True):
        if not record:
            if ids[id_] < since - UNKNOWN_FOR_S:
                gone.append(id_)
            continue
        for delivery in known_deliveries([[word for pair in record.items() for word in pair]]):
            if delivery.status in OPEN or (delivery.finished_at or 0.0) > since:
                found.update(str(each["hash"]) for each in delivery.content.get("attach", ()))
    if gone:
        await client.command("ZREM", prefix + b"attached", *gone)
    return frozenset(found)
