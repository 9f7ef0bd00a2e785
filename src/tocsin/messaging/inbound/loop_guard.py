"""Mute a chat in which two programs keep answering each other. Source: docs/facts/webhooks.md, "Loops"."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from tocsin.messaging.inbound.model import Chat

WINDOW_S = 60.0
MUTED_S = 300.0
MAX_CHATS = 10_000  # beyond this number, the least recently active chat is dropped


class LoopVerdict(Enum):
    """The decision about replies that are about to be sent."""

    PASSES = "passes"
    MUTES = "mutes"  # too many: the chat is muted from now on
    MUTED = "muted"  # the chat is already muted, and was informed


class LoopGuard(Protocol):
    """Counts the replies per chat over the last minute."""

    limit: int

    async def is_muted(self, chat: Chat) -> bool:
        """Whether replies to the chat are suppressed at present."""
        ...

    async def take(self, chat: Chat, count: int) -> LoopVerdict:
        """Count replies that are about to be sent; mute the chat if there are too many."""
        ...


@dataclass(slots=True)
class _Pace:
    replies: deque[float] = field(default_factory=deque)
    muted_until: float | None = None


class OwnLoopGuard:
    """Counts the replies of this process only."""

    def __init__(self, limit: int, monotonic: Callable[[], float]) -> None:
        self.limit = limit
        self._monotonic = monotonic
        self._paces: OrderedDict[Chat, _Pace] = OrderedDict()

    async def is_muted(self, chat: Chat) -> bool:
        pace = self._paces.get(chat)
        return pace is not None and pace.muted_until is not None and self._monotonic() < pace.muted_until

    async def take(self, chat: Chat, count: int) -> LoopVerdict:
        now = self._monotonic()
        pace = self._paces.setdefault(chat, _Pace())
        self._paces.move_to_end(chat)
        while len(self._paces) > MAX_CHATS:
            self._paces.popitem(last=False)
        while pace.replies and pace.replies[0] <= now - WINDOW_S:
            pace.replies.popleft()
        if len(pace.replies) + count > self.limit:
            pace.replies.clear()
            pace.muted_until = now + MUTED_S
            return LoopVerdict.MUTES
        pace.replies.extend([now] * count)
        return LoopVerdict.PASSES
