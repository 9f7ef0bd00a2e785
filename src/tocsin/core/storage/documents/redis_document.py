"""The small texts of `document.py` in Redis, which hosts share."""

from collections.abc import Callable
from pathlib import Path

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient, load_script

KEY_PREFIX = "tocsin:documents:"
_ATTEMPTS = 20
_LUA = Path(__file__).parent / "lua"
_SWAP = load_script(_LUA, "swap")


class RedisDocument:
    """A string in Redis: `ChannelDocument`."""

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
