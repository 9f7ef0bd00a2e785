"""Migrate keys of earlier versions, whose names have no hash tag and so do not work in a cluster."""

import logging
from collections.abc import Callable
from pathlib import Path

from tocsin.core.storage.redis_client import RedisClient, load_script

log = logging.getLogger(__name__)

# A hash with a field for each pattern whose keys are all migrated.
DONE = "tocsin:names"

_LUA = Path(__file__).parent / "lua"
_TAKE_OVER = load_script(_LUA, "take_over")
BATCH = 500


class FormerNames:
    """Migrates the former key names of one store once, in the first process that uses the store."""

    def __init__(
        self, client: RedisClient, store: str, pattern: str, renamed: Callable[[str], str], *, sign: str = ""
    ) -> None:
        """Describe the migration.

        `renamed` returns the current name of a key that matches `pattern`; `sign` is a key that exists if an older
        version has written since.
        """
        self._client = client
        self._store = store
        self._pattern = pattern
        self._renamed = renamed
        self._sign = sign
        self._done = client.clustered

    async def take_over(self) -> None:
        """Rename all matching keys; this may be repeated, and interrupted at any point."""
        if self._done:
            return
        if not await self._client.command("HGET", DONE, self._pattern) or await self.is_in_use():
            count = await self._rename_all()
            await self._client.command("HSET", DONE, self._pattern, b"1")
            if count:
                log.info("keys with former names were renamed", extra={"store": self._store, "count": count})
        self._done = True

    async def is_in_use(self) -> bool:
        """Whether a process of an older version has written since the migration."""
        return bool(self._sign and not self._client.clustered and await self._client.command("EXISTS", self._sign))

    async def _rename_all(self) -> int:
        count = 0
        async for names in self._client.scan(self._pattern):
            found = [name.decode(errors="surrogateescape") for name in names]
            for at in range(0, len(found), BATCH):
                await self._rename(found[at : at + BATCH])
            count += len(found)
        return count

    async def _rename(self, names: list[str]) -> None:
        keys = [word for name in names for word in (name, self._renamed(name))]
        await self._client.run(_TAKE_OVER, [key.encode(errors="surrogateescape") for key in keys], [])
