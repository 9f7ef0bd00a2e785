"""Storage of access requests, decisions and changed IDs of groups."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tocsin.bot.storage.keyed_table import OpenTable, add, put

MICRO = 1_000_000
MAX_PENDING = 1_000  # any chat may ask: requests must not fill the disk
_COUNT_AGAIN_S = 10.0


class AccessState(StrEnum):
    """The access state of a chat."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"


def parse_state(stored: str) -> AccessState:
    """Parse a stored state; a state of another version denies the chat."""
    return AccessState(stored) if stored in set(AccessState) else AccessState.DENIED


@dataclass(frozen=True, slots=True)
class Record:
    """A decision or request made at run time. `changed_at` is Unix time."""

    chat_id: str
    state: AccessState
    changed_at: float
    details: Mapping[str, str] = field(default_factory=dict)
    admin_told: bool = False
    notice: str = ""  # the delivery that asked the admin, while the request is pending


class AccessStore:
    """Decisions made at run time. They survive a restart and are shared by all processes."""

    def __init__(
        self,
        open_table: OpenTable,
        *,
        max_pending: int = MAX_PENDING,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = open_table("access", 0)
        self._moves = open_table("moves", 0)
        self._old_ids = open_table("old-ids", 0)  # by new ID, all that ever moved there, as JSON
        self._has_index = False
        self._max_pending = max_pending
        self._monotonic = monotonic
        self._full_until = float("-inf")

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        """Return the chat, then its other IDs, past and present, each with its record."""
        if not self._has_index:
            await self._complete_index()
        new_id = await self._moves.get(chat_id)
        old_ids = [old for old in await self._moved_to(chat_id) if await self._moves.get(old) == chat_id]
        ids = dict.fromkeys([chat_id, *([new_id] if new_id else []), *old_ids])
        return [(id_, _unpacked(id_, await self._records.get(id_))) for id_ in ids]

    async def records(self) -> list[Record]:
        """Return all records: pending requests first, then by the time of the change, newest first."""
        found = [_record(chat_id, text) for chat_id, text in (await self._records.all()).items()]
        return sorted(found, key=lambda r: (r.state is not AccessState.PENDING, -r.changed_at, r.chat_id))

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        """Store the request of an unknown chat; return its record, and whether it is new.

        The record is `None` if too many requests are pending.
        """
        known = _unpacked(chat_id, await self._records.get(chat_id))
        if known and known.state is not AccessState.UNKNOWN:
            return known, False
        if await self._is_full():
            return None, False

        def ask(text: str | None, now: float) -> str:
            if text and _record(chat_id, text).state is not AccessState.UNKNOWN:
                return text
            return _packed(Record(chat_id, AccessState.PENDING, now, details))

        change = await self._records.change(chat_id, ask)
        return _unpacked(chat_id, change.after), change.after != change.before

    async def _is_full(self) -> bool:
        """Return whether too many requests are pending; while they are, count them seldom: any chat can write."""
        if self._monotonic() >= self._full_until:
            pending = sum(record.state is AccessState.PENDING for record in await self.records())
            if pending < self._max_pending:
                return False
            self._full_until = self._monotonic() + _COUNT_AGAIN_S
        return True

    async def record_admin_notice(self, chat_id: str, notice: str) -> None:
        """Record that the admin was notified of the request of `chat_id`, and by which delivery."""

        def told(text: str | None, _: float) -> str | None:
            return text and _packed(replace(_record(chat_id, text), admin_told=True, notice=notice))

        await self._records.change(chat_id, told)

    async def decide(self, chat_id: str, state: AccessState) -> bool:
        """Record the access state of the chat; a recorded UNKNOWN has priority over the setting.

        Return False if that state was recorded already: of two concurrent equal decisions, one returns True.
        """

        def decided(text: str | None, now: float) -> str:
            before = _unpacked(chat_id, text)
            if text and before and before.state is state:
                return text
            return _packed(Record(chat_id, state, now, before.details if before else {}))

        change = await self._records.change(chat_id, decided)
        return change.after != change.before

    async def forget(self, chat_id: str) -> bool:
        """Delete the record of the chat; return True if there was one."""
        return (await self._records.change(chat_id, lambda _, __: None)).before is not None

    async def record_move(self, old_id: str, new_id: str) -> None:
        """Record that a group got another ID."""
        # The index first: an entry without its move is ignored.
        await self._old_ids.change(new_id, lambda text, _: json.dumps(sorted({*json.loads(text or "[]"), old_id})))
        await put(self._moves, old_id, new_id)

    async def _moved_to(self, new_id: str) -> list[str]:
        return list(json.loads(await self._old_ids.get(new_id) or "[]"))

    async def _complete_index(self) -> None:
        """Add the moves of a version that had no index."""
        for old_id, new_id in await self.moves():
            if old_id not in await self._moved_to(new_id):
                await self.record_move(old_id, new_id)
        self._has_index = True

    async def moves(self) -> Sequence[tuple[str, str]]:
        """Return the old and the new ID of every group whose ID changed."""
        return sorted((await self._moves.all()).items())

    async def restore(self, record: Record) -> bool:
        """Copy a record from another store unless the chat has one; return True if it was copied."""
        return await add(self._records, record.chat_id, _packed(record))


def _packed(record: Record) -> str:
    """Encode a record as JSON, with `details` as nested JSON and `at` in microseconds."""
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
    return Record(chat_id, parse_state(values["state"]), changed_at, details, told, notice)
