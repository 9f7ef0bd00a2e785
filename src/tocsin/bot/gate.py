"""The concurrency gate: how many answers are worked on at the same time, in one chat and in all.

First in, first out within a chat; waiting chats take turns. Everything happens on one event loop.
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
    """Hands out slots: `per_chat` in one chat, `overall` in all; `overflow` of a chat may wait for one."""

    def __init__(self, per_chat: int, overall: int, overflow: int) -> None:
        self.per_chat = per_chat
        self.overall = overall
        self.overflow = overflow
        self._running: Counter[str] = Counter()
        # Chats in the order of their turns; none is here without a waiter.
        self._waiting: OrderedDict[str, deque[_Waiter]] = OrderedDict()

    def running(self, chat: str | None = None) -> int:
        """Return how many slots are taken, by one chat or by all."""
        return self._running.total() if chat is None else self._running[chat]

    def waiting(self, chat: str | None = None) -> int:
        """Return how many wait for a slot, of one chat or of all."""
        return sum(map(len, self._waiting.values())) if chat is None else len(self._waiting.get(chat, ()))

    @asynccontextmanager
    async def slot(self, chat: str, *, patient: bool = False) -> AsyncIterator[None]:
        """Hold a slot during the block, waiting for it first.

        Raises GateFullError at once if the queue is full; a `patient` message always waits and does not count.
        """
        await self._enter(chat, patient=patient)
        try:
            yield
        finally:
            self._leave(chat)

    async def _enter(self, chat: str, *, patient: bool) -> None:
        if self._has_room(chat):  # then no message of the chat waits: each one that leaves admits the next
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
        if waiter.turn.done() and not waiter.turn.cancelled():  # its turn came in the same moment
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
