"""Access requests, decisions and new IDs of groups."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tocsin.bot.storage.keyed_table import OpenTable, add, put

MICRO = 1_000_000
MAX_PENDING = 1_000  # any chat may ask: strangers must not fill the disk


class AccessState(StrEnum):
    """The access state of a chat."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"


def state_of(stored: str) -> AccessState:
    """Return the state that is stored; one that another version knew keeps the chat out."""
    return AccessState(stored) if stored in set(AccessState) else AccessState.DENIED


@dataclass(frozen=True, slots=True)
class Record:
    """What was decided, or asked for, at run time. `changed_at` is Unix time."""

    chat_id: str
    state: AccessState
    changed_at: float
    details: Mapping[str, str] = field(default_factory=dict)
    admin_told: bool = False
    notice: str = ""  # the delivery that asked the admin, while the request waits


class AccessStore:
    """Decisions of run time; they survive a restart and are the same for every process."""

    def __init__(self, open_table: OpenTable, *, max_pending: int = MAX_PENDING) -> None:
        self._records = open_table("access", 0)
        self._moves = open_table("moves", 0)
        self._max_pending = max_pending

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        """Return the chat, then its other IDs, past and present, each with its record."""
        moves = await self._moves.all()
        ids = dict.fromkeys([chat_id, *([moves[chat_id]] if chat_id in moves else [])])
        ids |= dict.fromkeys(old for old, new in moves.items() if new == chat_id)
        return [(id_, _unpacked(id_, await self._records.get(id_))) for id_ in ids]

    async def records(self) -> list[Record]:
        """Return everything recorded: waiting chats first, then by the time of the change, the newest first."""
        found = [_record(chat_id, text) for chat_id, text in (await self._records.all()).items()]
        return sorted(found, key=lambda r: (r.state is not AccessState.PENDING, -r.changed_at, r.chat_id))

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        """Store the request of a chat that is unknown; return its record, and whether it is new.

        There is none when too many wait.
        """
        known = _unpacked(chat_id, await self._records.get(chat_id))
        if known and known.state is not AccessState.UNKNOWN:
            return known, False
        waiting = [record for record in await self.records() if record.state is AccessState.PENDING]
        if len(waiting) >= self._max_pending:
            return None, False

        def ask(text: str | None, now: float) -> str:
            if text and _record(chat_id, text).state is not AccessState.UNKNOWN:
                return text
            return _packed(Record(chat_id, AccessState.PENDING, now, details))

        change = await self._records.change(chat_id, ask)
        return _unpacked(chat_id, change.after), change.after != change.before

    async def admin_was_told(self, chat_id: str, notice: str) -> None:
        """Keep that the request of `chat_id` needs no further message, and which delivery told the admin."""

        def told(text: str | None, _: float) -> str | None:
            return text and _packed(replace(_record(chat_id, text), admin_told=True, notice=notice))

        await self._records.change(chat_id, told)

    async def decide(self, chat_id: str, state: AccessState) -> bool:
        """Record where the chat stands from now on; a recorded UNKNOWN outweighs the setting.

        Return False if that was recorded already: of two who decide the same at the same time, one gets True.
        """

        def decided(text: str | None, now: float) -> str:
            before = _unpacked(chat_id, text)
            if text and before and before.state is state:
                return text
            return _packed(Record(chat_id, state, now, before.details if before else {}))

        change = await self._records.change(chat_id, decided)
        return change.after != change.before

    async def forget(self, chat_id: str) -> bool:
        """Delete the record of the chat; return whether there was one."""
        return (await self._records.change(chat_id, lambda _, __: None)).before is not None

    async def record_move(self, old_id: str, new_id: str) -> None:
        """Keep that a group became another chat."""
        await put(self._moves, old_id, new_id)

    async def moves(self) -> Sequence[tuple[str, str]]:
        """Return the old and the new ID of every group that became another chat."""
        return sorted((await self._moves.all()).items())

    async def restore(self, record: Record) -> bool:
        """Take over a record of another store, unless there is one of that chat; return whether it was taken."""
        return await add(self._records, record.chat_id, _packed(record))


def _packed(record: Record) -> str:
    """Return a record as JSON, in which `details` is JSON as well and `at` is microseconds."""
    return json.dumps(
        {
            "state": record.state,
            "details": json.dumps(dict(record.details)),
            "at": str(round(record.changed_at * MICRO)),
            "told": record.admin_told,
            "notice": record.notice,
        }
    )


def _unpacked(chat_id: str, text: str | None) -> Record | None:
    return _record(chat_id, text) if text else None


def _record(chat_id: str, text: str) -> Record:
    values = json.loads(text)
    changed_at, details = int(values["at"]) / MICRO, json.loads(values["details"])
    told, notice = bool(values.get("told")), values.get("notice", "")
    return Record(chat_id, state_of(values["state"]), changed_at, details, told, notice)
