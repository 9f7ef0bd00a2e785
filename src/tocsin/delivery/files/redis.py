"""Files in Redis: chunks as strings, and one hash that says which chunks a file has.

Keys:

    {tocsin:files}:all          hash: SHA-256 → JSON: token of the chunks, size, begin of the grace period (Unix time)
    {tocsin:files}:unfinished   sorted set: tokens of files that are being stored, by time
    {tocsin:file:<token>}:<n>   string: a chunk

A file is named after all its chunks are stored, because its hash is known only at its end.
"""

import hashlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from pathlib import Path
from typing import Any

from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.time.clock import Clock
from tocsin.delivery.files.store import BLOCK_BYTES, GRACE_S, FilesUsage, StoredFile, full, gone

_ALL = "{tocsin:files}:all"
_UNFINISHED = "{tocsin:files}:unfinished"

_LUA = Path(__file__).parent / "lua"
_NAME, _FORGET, _KEEP = load_script(_LUA, "name"), load_script(_LUA, "forget"), load_script(_LUA, "keep")


class RedisFiles:
    """Files of the messages of all hosts that share a Redis."""

    def __init__(self, client: RedisClient, quota: int, clock: Clock) -> None:
        """`quota` is the number of bytes of all files together."""
        self._client = client
        self._quota = quota
        self._clock = clock

    async def add(self, blocks: AsyncIterable[bytes]) -> StoredFile:
        used, token = await self.usage(), os.urandom(16).hex()
        digest, size, count, pending = hashlib.sha256(), 0, 0, bytearray()
        await self._client.command("ZADD", _UNFINISHED, self._clock.now(), token)
        kept = ""
        try:
            async for block in blocks:
                size += len(block)
                if used.size + size > self._quota:
                    raise full(used, "FILES_REDIS_MB")
                digest.update(block)
                pending += block
                while len(pending) >= BLOCK_BYTES:
                    await self._client.command("SET", _chunk(token, count), bytes(pending[:BLOCK_BYTES]))
                    del pending[:BLOCK_BYTES]
                    count += 1
            if pending:
                await self._client.command("SET", _chunk(token, count), bytes(pending))
            named = await self._client.run(_NAME, [_ALL], [digest.hexdigest(), token, size, self._clock.now()])
            kept = bytes(named).decode()
        finally:
            # What a crash, or a server without memory, leaves here is removed by `prune`.
            if kept != token:
                await self._drop(token)
        await self._client.command("ZREM", _UNFINISHED, token)
        return StoredFile(digest.hexdigest(), size)

    async def keep(self, hashes: Iterable[str], keep_s: float) -> None:
        for hash_ in hashes:
            await self._client.run(_KEEP, [_ALL], [hash_, self._clock.now() + keep_s])

    async def blocks(self, hash_: str) -> AsyncGenerator[bytes]:
        known = (await self._known(hash_)).get(hash_)
        if known is None:
            raise gone(hash_)
        for number in range(-(-known["size"] // BLOCK_BYTES)):
            chunk = await self._client.command("GET", _chunk(known["token"], number))
            if chunk is None:
                raise gone(hash_)
            yield chunk

    async def size_of(self, hash_: str) -> int | None:
        known = (await self._known(hash_)).get(hash_)
        return int(known["size"]) if known else None

    async def prune(self, needed: frozenset[str]) -> int:
        before, removed = self._clock.now() - GRACE_S, 0
        for hash_, known in (await self._known()).items():
            if hash_ not in needed:
                removed += await self._forget(hash_, known["token"], before)
        for token in await self._client.command("ZRANGEBYSCORE", _UNFINISHED, "-inf", before):
            name = bytes(token).decode()
            if all(known["token"] != name for known in (await self._known()).values()):
                await self._drop(name)
            await self._client.command("ZREM", _UNFINISHED, name)
        return removed

    async def remove(self, hash_: str) -> None:
        for known in (await self._known(hash_)).values():
            await self._forget(hash_, known["token"], known["at"])

    async def _forget(self, hash_: str, token: str, before: float) -> int:
        if not await self._client.run(_FORGET, [_ALL], [hash_, before]):
            return 0
        await self._drop(token)
        return 1

    async def usage(self) -> FilesUsage:
        known = await self._known()
        return FilesUsage(len(known), sum(each["size"] for each in known.values()), self._quota)

    async def hashes(self) -> frozenset[str]:
        return frozenset(await self._known())

    async def _known(self, hash_: str = "") -> dict[str, dict[str, Any]]:
        """Return what is known of one file, or of all."""
        if hash_:
            found = {hash_: await self._client.command("HGET", _ALL, hash_)}
        else:
            found = {bytes(name).decode(): raw for name, raw in (await self._client.command("HGETALL", _ALL)).items()}
        return {name: json.loads(raw) for name, raw in found.items() if raw is not None}

    async def _drop(self, token: str) -> None:
        number = 0
        while await self._client.command("UNLINK", _chunk(token, number)):
            number += 1
        await self._client.command("ZREM", _UNFINISHED, token)


def _chunk(token: str, number: int) -> str:
    return f"{{tocsin:file:{token}}}:{number}"
