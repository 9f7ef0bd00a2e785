"""Modes and previews in Redis, shared by every host."""

from collections.abc import Mapping
from pathlib import Path

from tocsin.bot.contract import ChatMode
from tocsin.bot.persistence import PREVIEWS_KEPT_S, mode_of
from tocsin.bot.storage.redis_calls import RedisCalls
from tocsin.core.storage.redis_client import load_script

_LUA = Path(__file__).parent / "lua"
_KEEP = load_script(_LUA, "keep")


class RedisBotPersistence:
    """Previews are forgotten by the time of the server."""

    def __init__(self, client: RedisCalls, *, prefix: str = "tocsin") -> None:
        self._client = client
        self._modes, self._previews = f"{{{prefix}:bot}}:modes", f"{{{prefix}:bot}}:previews"

    async def mode(self, chat_id: str) -> ChatMode:
        found = await self._client.command("HGET", self._modes, chat_id)
        return mode_of(found and bytes(found).decode())

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        await self._client.command("HSET", self._modes, chat_id, mode)

    async def modes(self) -> Mapping[str, ChatMode]:
        return {chat: mode_of(mode) for chat, mode in (await self._pairs(self._modes)).items()}

    async def preview(self, received_id: str) -> str | None:
        found = await self._client.command("HGET", self._previews, received_id)
        return bytes(found).decode() if found else None

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        keys = (self._previews, f"{self._previews}-by-time")
        await self._client.run(_KEEP, keys, [received_id, message_id, int(PREVIEWS_KEPT_S)])

    async def forget_preview(self, received_id: str) -> None:
        # Its place in the order of time goes when it would have been forgotten anyway.
        await self._client.command("HDEL", self._previews, received_id)

    async def previews(self) -> Mapping[str, str]:
        return await self._pairs(self._previews)

    async def _pairs(self, key: str) -> dict[str, str]:
        found = await self._client.command("HGETALL", key)
        return {bytes(name).decode(): bytes(value).decode() for name, value in found.items()}
