"""The concurrency gate: it limits how many answers are in progress per chat and in total.

First in, first out within a chat; round robin among waiting chats. It runs on one event loop.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tocsin.core.errors import TocsinError


class GateFullError(TocsinError):
    """The queue of the chat is full."""

    code = "too-many-requests"


@dataclass(eq=False, slots=True)
class _Waiter:
    turn: "asyncio.Future[None]"
    patient: bool


class Gate:
    """Grants slots: at most `per_chat` per chat and `overall` in total; `overflow` messages of a chat may wait."""

    def __init__(self, per_chat: int, overall: int, overflow: int) -> None:
        self.per_chat = per_chat
        self.overall = overall
        self.overflow = overflow
        self._running: Counter[str] = Counter()
        # Chats in the order of their turns; each has at least one waiter.
        self._waiting: OrderedDict[str, deque[_Waiter]] = OrderedDict()

    def running(self, chat: str | None = None) -> int:
        """Return the number of slots in use, by one chat or in total."""
        return self._running.total() if chat is None else self._running[chat]

    def waiting(self, chat: str | None = None) -> int:
        """Return the number of messages that wait for a slot, of one chat or in total."""
        return sum(map(len, self._waiting.values())) if chat is None else len(self._waiting.get(chat, ()))

    @asynccontextmanager
    async def slot(self, chat: str, *, patient: bool = False) -> AsyncIterator[None]:
        """Wait for a slot and hold it during the block.

        Raises GateFullError immediately if the queue is full; a `patient` message always waits and is not counted.
        """
        await self._enter(chat, patient=patient)
        try:
            yield
        finally:
            self._leave(chat)

    async def _enter(self, chat: str, *, patient: bool) -> None:
        if self._has_room(chat):  # no message of the chat waits then: each one that leaves admits the next
            self._running[chat] += 1
            return
        queue = self._waiting.get(chat, deque())
        if not patient and sum(not waiter.patient for waiter in queue) >= self.overflow:
            raise GateFullError(f"{self.overflow} messages of the chat are already waiting")
        waiter = _Waiter(asyncio.get_running_loop().create_future(), patient)
        self._waiting.setdefault(chat, queue).append(waiter)
        try:
            await waiter.turn
        except asyncio.CancelledError:
            self._withdraw(chat, waiter)
            raise

    def _withdraw(self, chat: str, waiter: _Waiter) -> None:
        if waiter.turn.done() and not waiter.turn.cancelled():  # its turn came at the same moment
            self._leave(chat)
            return
        self._waiting[chat].remove(waiter)
        if not self._waiting[chat]:
            del self._waiting[chat]

    def _leave(self, chat: str) -> None:
        self._running[chat] -= 1
        if not self._running[chat]:
            del self._running[chat]
        while following := next((other for other in self._waiting if self._has_room(other)), None):
            self._admit(following)

    def _admit(self, chat: str) -> None:
        queue = self._waiting[chat]
        queue.popleft().turn.set_result(None)
        self._running[chat] += 1
        if queue:
            self._waiting.move_to_end(chat)
        else:
            del self._waiting[chat]

    def _has_room(self, chat: str) -> bool:
        return self._running[chat] < self.per_chat and self._running.total() < self.overall
