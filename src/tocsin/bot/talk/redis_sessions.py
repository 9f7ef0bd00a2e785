"""Sessions in Redis: a list of entries per chat, changed by scripts, so that each change is whole or none."""

import json
from collections.abc import Sequence
from pathlib import Path

from tocsin.bot.talk.sessions import MAX_CHATS, MAX_IDS, SessionEntry
from tocsin.core.storage.redis_client import RedisClient, load_script

# A repeat may come after a restart, when the window has long ended.
IDS_TTL_S = 86400

_LUA = Path(__file__).parent / "lua"
_APPEND = load_script(_LUA, "append", MAX_IDS=MAX_IDS)
_EDIT = load_script(_LUA, "edit")


class RedisSessions:
    """Histories that survive restarts and are shared by all processes; Redis ends them by their time to live."""

    def __init__(self, client: RedisClient, *, ttl_s: int, window: int) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._window = window

    async def append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:  # noqa: A002
        """Append by one script: all entries or none."""
        limits = (id, self._window, self._ttl_s, max(self._ttl_s, IDS_TTL_S))
        keys = (_key(chat_id), f"{_key(chat_id)}:ids")
        return bool(await self._client.run(_APPEND, keys, (*limits, *(_document(entry) for entry in entries))))

    async def edit(self, entry: SessionEntry) -> bool:
        """Replace one entry by one script."""
        arguments = (entry.message_id, entry.role, _document(entry), self._ttl_s)
        return bool(await self._client.run(_EDIT, (_key(entry.chat_id),), arguments))

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        """Return the window; skip what cannot be read as an entry."""
        found = await self._client.command("LRANGE", _key(chat_id), -self._window, -1)
        entries = (_entry(chat_id, raw) for raw in found)
        return tuple(entry for entry in entries if entry)

    async def clear(self, chat_id: str) -> None:
        """Delete the window; its IDs stay until they expire."""
        await self._client.command("DEL", _key(chat_id))

    async def chats(self) -> tuple[str, ...]:
        """Find the keys of windows, a few at a time."""
        found: dict[str, None] = {}
        cursor = 0
        while len(found) < MAX_CHATS:
            at, keys = await self._client.command("SCAN", cursor, "MATCH", _key("*"), "COUNT", 500)
            named = (bytes(key).decode(errors="replace") for key in keys)
            found |= dict.fromkeys(name.removeprefix(_key("")) for name in named if not name.endswith(":ids"))
            cursor = int(at)
            if not cursor:
                break
        return tuple(found)[:MAX_CHATS]


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
