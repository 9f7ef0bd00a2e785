"""Access decisions in Redis: met on one host, they hold on all at once."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tocsin.bot.door.access_store import MAX_PENDING, AccessState, Record, state_of
from tocsin.bot.storage.redis_calls import RedisCalls
from tocsin.core.storage.redis_client import load_script

MICRO = 1_000_000

_LUA = Path(__file__).parent / "lua"
_FAMILY = load_script(_LUA, "family")
_REQUEST = load_script(_LUA, "request", "record", PENDING=AccessState.PENDING, UNKNOWN=AccessState.UNKNOWN)
_TOLD = load_script(_LUA, "told")
_DECIDE = load_script(_LUA, "decide", "record", PENDING=AccessState.PENDING)
_FORGET = load_script(_LUA, "forget")
_MOVE = load_script(_LUA, "move")
_RESTORE = load_script(_LUA, "restore", PENDING=AccessState.PENDING)


class RedisAccessStore:
    """Decisions of run time, the same for every host. Times are those of the server, so that they compare."""

    def __init__(self, client: RedisCalls, *, prefix: str = "tocsin", max_pending: int = MAX_PENDING) -> None:
        self._client = client
        self._prefix = f"{{{prefix}:bot}}:"
        self._chats, self._pending = f"{self._prefix}access", f"{self._prefix}pending"
        self._moves = f"{self._prefix}moves"
        self._max_pending = max_pending

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        rows = await self._client.run(_FAMILY, [self._chats, self._moves, self._former(chat_id)], [chat_id])
        ids = [bytes(row[0]).decode() for row in rows]
        return [(id_, _record(id_, row[1]) if row[1] else None) for id_, row in zip(ids, rows, strict=True)]

    async def records(self) -> list[Record]:
        found = await self._client.command("HGETALL", self._chats)
        records = [_record(bytes(chat).decode(), packed) for chat, packed in found.items()]
        return sorted(records, key=lambda r: (r.state is not AccessState.PENDING, -r.changed_at, r.chat_id))

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        arguments = (chat_id, json.dumps(dict(details)), self._max_pending)
        packed, is_new = await self._client.run(_REQUEST, [self._chats, self._pending], arguments)
        return (_record(chat_id, packed) if packed else None), bool(is_new)

    async def admin_was_told(self, chat_id: str, notice: str) -> None:
        await self._client.run(_TOLD, [self._chats], [chat_id, notice])

    async def decide(self, chat_id: str, state: AccessState) -> bool:
        return bool(await self._client.run(_DECIDE, [self._chats, self._pending], [chat_id, state]))

    async def forget(self, chat_id: str) -> bool:
        return bool(await self._client.run(_FORGET, [self._chats, self._pending], [chat_id]))

    async def record_move(self, old_id: str, new_id: str) -> None:
        await self._client.run(_MOVE, [self._moves], [old_id, new_id, self._former("")])

    async def moves(self) -> Sequence[tuple[str, str]]:
        found = await self._client.command("HGETALL", self._moves)
        return sorted((bytes(old).decode(), bytes(new).decode()) for old, new in found.items())

    async def restore(self, record: Record) -> bool:
        packed = {
            "state": record.state,
            "details": json.dumps(dict(record.details)),
            "at": str(round(record.changed_at * MICRO)),
            "told": record.admin_told,
            "notice": record.notice,
        }
        arguments = (record.chat_id, json.dumps(packed), record.state)
        return bool(await self._client.run(_RESTORE, [self._chats, self._pending], arguments))

    def _former(self, chat_id: str) -> str:
        return f"{self._prefix}former:{chat_id}"


def _record(chat_id: str, packed: bytes) -> Record:
    values = json.loads(packed)
    changed_at, details = int(values["at"]) / MICRO, json.loads(values["details"])
    told, notice = bool(values.get("told")), values.get("notice", "")
    return Record(chat_id, state_of(values["state"]), changed_at, details, told, notice)
