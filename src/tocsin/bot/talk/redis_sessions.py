"""Sessions in Redis: a list of entries per chat, changed by scripts, so that each change is whole or none."""

import json
from collections.abc import Sequence

from tocsin.bot.talk.sessions import MAX_IDS, SessionEntry
from tocsin.core.storage.redis_client import RedisClient, Script

# A repeat may come after a restart, when the window has long ended.
IDS_TTL_S = 86400

_APPEND = Script(
    f"""
local window, ids = KEYS[1], KEYS[2]
if redis.call('LPOS', ids, ARGV[1]) then return 0 end
for place = 5, #ARGV do redis.call('RPUSH', window, ARGV[place]) end
redis.call('LTRIM', window, -tonumber(ARGV[2]), -1)
redis.call('EXPIRE', window, ARGV[3])
redis.call('LPUSH', ids, ARGV[1])
redis.call('LTRIM', ids, 0, {MAX_IDS - 1})
redis.call('EXPIRE', ids, ARGV[4])
return 1
"""
)
_EDIT = Script(
    """
for place, raw in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local known, entry = pcall(cjson.decode, raw)
  if known and type(entry) == 'table' and entry.message_id == ARGV[1] and entry.role == ARGV[2] then
    redis.call('LSET', KEYS[1], place - 1, ARGV[3])
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    return 1
  end
end
return 0
"""
)


class RedisSessions:
    """Histories that survive restarts and are shared by all processes; Redis ends them by their time to live."""

    def __init__(self, client: RedisClient, *, ttl_s: int, window: int) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._window = window

    async def append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:  # noqa: A002
        """See `SessionStore.append`."""
        limits = (id, self._window, self._ttl_s, max(self._ttl_s, IDS_TTL_S))
        keys = (_key(chat_id), f"{_key(chat_id)}:ids")
        return bool(await self._client.run(_APPEND, keys, (*limits, *(_document(entry) for entry in entries))))

    async def edit(self, entry: SessionEntry) -> bool:
        """See `SessionStore.edit`."""
        arguments = (entry.message_id, entry.role, _document(entry), self._ttl_s)
        return bool(await self._client.run(_EDIT, (_key(entry.chat_id),), arguments))

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        """See `SessionStore.get`; what is no entry of ours is left out."""
        found = await self._client.command("LRANGE", _key(chat_id), -self._window, -1)
        entries = (_entry(chat_id, raw) for raw in found)
        return tuple(entry for entry in entries if entry)

    async def clear(self, chat_id: str) -> None:
        """See `SessionStore.clear`."""
        await self._client.command("DEL", _key(chat_id))


def _key(chat_id: str) -> str:
    return f"tocsin:session:{chat_id}"


def _document(entry: SessionEntry) -> str:
    return json.dumps({"role": entry.role, "content": entry.content, "message_id": entry.message_id})


def _entry(chat_id: str, raw: bytes) -> SessionEntry | None:
    try:
        document = json.loads(raw)
        return SessionEntry(chat_id, document["role"], str(document["content"]), str(document.get("message_id", "")))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
