"""Count the replies in each chat over all hosts, because a loop may pass through several gateways."""

import logging
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.loop_guard import MAX_CHATS, MUTED_S, WINDOW_S, LoopVerdict, OwnLoopGuard
from tocsin.messaging.inbound.model import Chat

log = logging.getLogger(__name__)

# The delay after which this process notices that another host has muted a chat.
LOOK_EVERY_S = 1.0

_LUA = Path(__file__).parent / "lua"
_REPLIES = replace(
    load_script(_LUA, "replies", WINDOW_US=round(WINDOW_S * 1_000_000), MUTED_MS=round(MUTED_S * 1_000)), fleeting=True
)
_VERDICTS = (LoopVerdict.PASSES, LoopVerdict.MUTES, LoopVerdict.MUTED)


class SharedLoopGuard:
    """Counts in Redis, by the server's clock; while Redis is unavailable, each process counts for itself."""

    def __init__(self, own: OwnLoopGuard, client: RedisClient, clock: Clock, *, prefix: str = "tocsin") -> None:
        self.limit = own.limit
        self._own = own
        self._client = client
        self._clock = clock
        self._prefix = prefix
        self._cached: dict[
            Chat, tuple[float, bool]
        ] = {}  # by chat: end of validity (monotonic), and whether it is muted

    async def is_muted(self, chat: Chat) -> bool:
        until, muted = self._cached.get(chat, (0.0, False))
        now = self._clock.monotonic()
        if now >= until:
            muted = await self._read_muted(chat)
            if len(self._cached) >= MAX_CHATS:
                self._cached.clear()
            self._cached[chat] = now + LOOK_EVERY_S, muted
        return muted

    async def take(self, chat: Chat, count: int) -> LoopVerdict:
        own = await self._own.take(chat, count)
        try:
            answer = await self._client.run(_REPLIES, self._keys(chat), [self.limit, count, new_id()])
        except StoreUnavailableError as error:
            log.debug("replies are counted only by this process", extra={"reason": error.sentence()})
            return own
        verdict = _VERDICTS[int(answer)]
        if verdict is not LoopVerdict.PASSES:
            self._cached.pop(chat, None)
        return verdict

    async def _read_muted(self, chat: Chat) -> bool:
        try:
            return bool(await self._client.command("EXISTS", self._keys(chat)[1]))
        except StoreUnavailableError:
            return await self._own.is_muted(chat)

    def _keys(self, chat: Chat) -> tuple[str, str]:
        tag = f"{{{self._prefix}:loop:{':'.join(chat)}}}"
        return f"{tag}:replies", f"{tag}:muted"
