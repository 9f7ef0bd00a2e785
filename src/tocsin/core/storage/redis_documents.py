"""The small texts of `documents.py` in Redis, which hosts share."""

from collections.abc import Callable

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient, Script

KEY_PREFIX = "tocsin:documents:"
_ATTEMPTS = 20
_SWAP = Script(
    "if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end\nredis.call('SET', KEYS[1], ARGV[2])\nreturn 1"
)


class RedisDocument:
    """A string in Redis: `Document`."""

    def __init__(self, client: RedisClient, name: str) -> None:
        self._client = client
        self._key = f"{KEY_PREFIX}{name}"

    async def read(self) -> str:
        return bytes(await self._client.command("GET", self._key) or b"").decode()

    async def change(self, edit: Callable[[str], str]) -> str:
        for _ in range(_ATTEMPTS):
            before = await self.read()
            if (after := edit(before)) == before or await self._client.run(_SWAP, [self._key], [before, after]):
                return after
        raise StoreUnavailableError("a record is changed by too many processes at once", hint="try again")
