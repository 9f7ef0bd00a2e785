"""Work for chats in Redis, shared by every host."""

from collections.abc import Collection
from pathlib import Path

from tocsin.bot.shared_work import KEPT_S
from tocsin.bot.storage.redis_calls import RedisCalls
from tocsin.core.storage.redis_client import load_script

_LUA = Path(__file__).parent / "lua"
_BEGIN = load_script(_LUA, "begin_work", KEPT_S=int(KEPT_S))
_FORGET = load_script(_LUA, "forget_work", KEPT_S=int(KEPT_S))
_CANCEL = load_script(_LUA, "cancel_work", KEPT_S=int(KEPT_S))


class RedisChatWork:
    """Each chat has a hash of its events in work, which ends by its time to live."""

    def __init__(self, client: RedisCalls, *, prefix: str = "tocsin") -> None:
        self._client = client
        self._prefix = f"{{{prefix}:bot}}:work:"

    async def begin(self, chat_id: str, received_id: str, seq: int) -> bool:
        return bool(await self._client.run(_BEGIN, [self._of(chat_id)], [received_id, seq]))

    async def end(self, chat_id: str, received_id: str) -> None:
        await self._client.command("HDEL", self._of(chat_id), received_id)

    async def is_cancelled(self, chat_id: str, received_id: str) -> bool:
        return bool(await self._client.command("HGET", self._of(chat_id), received_id) == b"cancelled")

    async def cancel(self, chat_id: str, received_id: str, but: Collection[str], before: int) -> int:
        return int(await self._client.run(_CANCEL, [self._of(chat_id)], [received_id, before, *but]))

    async def forget(self, history: str, before: int) -> None:
        await self._client.run(_FORGET, [self._of(history)], [before])

    async def is_forgotten(self, history: str, seq: int) -> bool:
        return int(await self._client.command("HGET", self._of(history), "reset") or 0) > seq

    def _of(self, chat_id: str) -> str:
        return f"{self._prefix}{chat_id}"
