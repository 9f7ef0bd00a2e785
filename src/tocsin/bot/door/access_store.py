"""Access requests, decisions and new IDs of groups: the interface of the stores that keep them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

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


class AccessStore(Protocol):
    """Decisions of run time; they survive a restart and are the same for every process."""

    async def family(self, chat_id: str) -> list[tuple[str, Record | None]]:
        """Return the chat, then its other IDs, past and present, each with its record."""
        ...

    async def records(self) -> list[Record]:
        """Return everything recorded: who waits first, then by the time of the change, the newest first."""
        ...

    async def request(self, chat_id: str, details: Mapping[str, str]) -> tuple[Record | None, bool]:
        """Store the request of a chat that is unknown; return its record, and whether it is new.

        There is none when too many wait.
        """
        ...

    async def admin_was_told(self, chat_id: str, notice: str) -> None:
        """Keep that the request of `chat_id` needs no further message, and which delivery told the admin."""
        ...

    async def decide(self, chat_id: str, state: AccessState) -> bool:
        """Record where the chat stands from now on; a recorded UNKNOWN outweighs the setting.

        Return False if that was recorded already: of two who decide the same at the same time, one gets True.
        """
        ...

    async def forget(self, chat_id: str) -> bool:
        """Delete the record of the chat; return whether there was one."""
        ...

    async def record_move(self, old_id: str, new_id: str) -> None:
        """Keep that a group became another chat."""
        ...

    async def moves(self) -> Sequence[tuple[str, str]]:
        """Return the old and the new ID of every group that became another chat."""
        ...

    async def restore(self, record: Record) -> bool:
        """Take over a record of another store, unless there is one of that chat; return whether it was taken."""
        ...
