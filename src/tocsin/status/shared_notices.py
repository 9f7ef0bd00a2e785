"""Notices of hosts that keep none: a list in Redis that any host adds to and one takes from, the oldest first."""

from tocsin.core.storage.redis_client import RedisClient

KEPT = 1_000
_KEY = "{tocsin:notices}:waiting"


class SharedNotices:
    """What is left for another host, the latest thousand."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def add(self, text: str) -> None:
        """Leave a text."""
        await self._client.command("RPUSH", _KEY, text)
        await self._client.command("LTRIM", _KEY, -KEPT, -1)

    async def oldest(self) -> str | None:
        """Return the oldest text; it stays until `drop`, so that a process that dies loses none."""
        found = await self._client.command("LINDEX", _KEY, 0)
        return bytes(found).decode() if found is not None else None

    async def drop(self, text: str) -> None:
        """Forget a text that was taken up."""
        await self._client.command("LREM", _KEY, 1, text)
