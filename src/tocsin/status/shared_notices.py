"""Notices from hosts that do not store them: a Redis list that any host adds to and one host reads, oldest first."""

from tocsin.core.storage.redis_client import RedisClient

KEPT = 1_000
_KEY = "{tocsin:notices}:waiting"


class SharedNotices:
    """Notices for another host, at most the latest thousand."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def add(self, text: str) -> None:
        await self._client.command("RPUSH", _KEY, text)
        await self._client.command("LTRIM", _KEY, -KEPT, -1)

    async def oldest(self) -> str | None:
        """Return the oldest notice; it stays until `drop`, so that none is lost if the process dies."""
        found = await self._client.command("LINDEX", _KEY, 0)
        return bytes(found).decode() if found is not None else None

    async def drop(self, text: str) -> None:
        """Remove a notice that was processed."""
        await self._client.command("LREM", _KEY, 1, text)
