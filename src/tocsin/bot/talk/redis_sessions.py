"""Sessions in Redis: one list of entries per chat, changed atomically by scripts."""

import json
from collections.abc import Sequence
from pathlib import Path

from tocsin.bot.talk.sessions import MAX_CHATS, MAX_IDS, SessionEntry
from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.storage.redis_names import FormerNames

# A retry may come after a restart, long after the window expired.
IDS_TTL_S = 86400

_FORMER = "tocsin:session:"

_LUA = Path(__file__).parent / "lua"
_APPEND = load_script(_LUA, "append", MAX_IDS=MAX_IDS)
_EDIT = load_script(_LUA, "edit")


class RedisSessions:
    """Histories that survive restarts and are shared by all processes; they expire in Redis by their time to live."""

    def __init__(self, client: RedisClient, *, ttl_s: int, window: int) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._window = window
        self._former = FormerNames(client, "sessions", f"{_FORMER}*", _renamed)

    async def append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:
        """Append with one script: all entries or none."""
        await self._former.take_over()
        limits = (id, self._window, self._ttl_s, max(self._ttl_s, IDS_TTL_S))
        keys = (_key(chat_id), f"{_key(chat_id)}:ids")
        return bool(await self._client.run(_APPEND, keys, (*limits, *(_document(entry) for entry in entries))))

    async def edit(self, entry: SessionEntry) -> bool:
        """Replace one entry with one script."""
        await self._former.take_over()
        arguments = (entry.message_id, entry.role, _document(entry), self._ttl_s)
        return bool(await self._client.run(_EDIT, (_key(entry.chat_id),), arguments))

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        """Return the window; skip malformed entries."""
        await self._former.take_over()
        found = await self._client.command("LRANGE", _key(chat_id), -self._window, -1)
        entries = (_entry(chat_id, raw) for raw in found)
        return tuple(entry for entry in entries if entry)

    async def clear(self, chat_id: str) -> None:
        """Delete the window; its IDs stay until they expire."""
        await self._former.take_over()
        await self._client.command("DEL", _key(chat_id))

    async def chats(self) -> tuple[str, ...]:
        """Return the chats that have a window, scanning the keys in small batches."""
        await self._former.take_over()
        found: dict[str, None] = {}
        async for keys in self._client.scan(_key("*"), count=500):
            found |= dict.fromkeys(bytes(key).decode(errors="replace")[len(_key("")) - 1 : -1] for key in keys)
            if len(found) >= MAX_CHATS:
                break
        return tuple(found)[:MAX_CHATS]


def _key(chat_id: str) -> str:
    return f"{{tocsin:session:{chat_id}}}"  # the hash tag; `:ids` follows it


def _renamed(former: str) -> str:
    chat_id, ids = former.removeprefix(_FORMER), ""
    if chat_id.endswith(":ids"):
        chat_id, ids = chat_id.removesuffix(":ids"), ":ids"
    return f"{_key(chat_id)}{ids}"


def _document(entry: SessionEntry) -> str:
    return json.dumps({"role": entry.role, "content": entry.content, "message_id": entry.message_id})


def _entry(chat_id: str, raw: bytes) -> SessionEntry | None:
    try:
        document = json.loads(raw)
        return SessionEntry(chat_id, document["role"], str(document["content"]), str(document.get("message_id", "")))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
