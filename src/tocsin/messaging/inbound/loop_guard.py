"""Mute a chat in which two programs answer each other.

Each process counts only its own replies. Source: docs/facts/webhooks.md, "Loops".
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tocsin.messaging.inbound.model import Chat

WINDOW_S = 60.0
MUTED_S = 300.0
MAX_CHATS = 10_000  # above that, the chat that was quiet for longest is dropped


@dataclass(slots=True)
class _Pace:
    replies: deque[float] = field(default_factory=deque)
    muted_until: float | None = None


class LoopGuard:
    """Counts the replies per chat over the last minute."""

    def __init__(self, limit: int, monotonic: Callable[[], float]) -> None:
        self.limit = limit
        self._monotonic = monotonic
        self._paces: OrderedDict[Chat, _Pace] = OrderedDict()

    def is_muted(self, chat: Chat) -> bool:
        """Whether replies to the chat are suppressed at present."""
        pace = self._paces.get(chat)
        return pace is not None and pace.muted_until is not None and self._monotonic() < pace.muted_until

    def take(self, chat: Chat, count: int) -> bool:
        """Count replies that are about to go out; if there are too many, mute the chat and return False."""
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
            return False
        pace.replies.extend([now] * count)
        return True
