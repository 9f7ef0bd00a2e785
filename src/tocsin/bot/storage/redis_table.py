"""Key-value tables in Redis, shared by all hosts."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tocsin.bot.storage.keyed_table import OpenTable, TableChange, Update
from tocsin.bot.storage.redis_calls import RedisCalls
from tocsin.core.storage.redis_client import load_script

MICRO = 1_000_000

_LUA = Path(__file__).parent / "lua"
_LOOK = replace(load_script(_LUA, "look"), fleeting=True)  # it only deletes expired texts
_SWAP = load_script(_LUA, "swap")


class RedisKeyedTable:
    """A hash; if texts expire, also a sorted set of the times of their last changes by the server's clock."""

    def __init__(self, client: RedisCalls, prefix: str, name: str, kept_s: float) -> None:
        key = f"{{{prefix}:bot}}:{name}"
        self._client = client
        self._keys = (key, f"{key}-by-time") if kept_s else (key,)
        self._kept_s = int(kept_s)

    async def get(self, key: str) -> str | None:
        return (await self._look(key))[0]

    async def all(self) -> Mapping[str, str]:
        found = [bytes(each).decode() for each in (await self._client.run(_LOOK, self._keys, [self._kept_s]))[1]]
        return dict(zip(found[::2], found[1::2], strict=True))

    async def change(self, key: str, update: Update) -> TableChange:
        while True:
            before, now = await self._look(key)
            after = update(before, now)
            if before == after or await self._client.run(_SWAP, self._keys, [key, before or "", after or ""]):
                return TableChange(before, after)

    async def _look(self, key: str) -> tuple[str | None, float]:
        found: Any
        at, found = await self._client.run(_LOOK, self._keys, [self._kept_s, key])
        return bytes(found).decode() if found else None, int(at) / MICRO


def redis_tables(client: RedisCalls, prefix: str) -> OpenTable:
    return partial(RedisKeyedTable, client, prefix)
