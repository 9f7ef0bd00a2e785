"""Passing the messages of a chat to the gate in order of arrival.

Messages are handled concurrently, and the reads before the gate take different times. Without the sequencer a backlog
would be answered out of order, and the gate would reject an earlier message in favour of a later one.
"""

import asyncio
from collections import OrderedDict

from tocsin.core.time.clock import Clock, sleep_or_event
from tocsin.messaging.inbound.handling import MessageContext

# The longest wait for an earlier message: it may never arrive, because a trigger answers it.
LONGEST_S = 0.5
MAX_CHATS = 1_000


class MessageSequencer:
    """Tracks the messages of each chat on their way to the gate."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._coming: OrderedDict[str, dict[str, float]] = (
            OrderedDict()
        )  # by chat: event IDs, and the time at which the wait for each ends
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of chats with messages on their way."""
        return len(self._coming)

    def begin(self, received: MessageContext) -> None:
        """Record that a message is on its way, after all that were recorded before."""
        chat = self._coming.setdefault(received.message.chat_id, {})
        chat[received.id] = self._clock.monotonic() + LONGEST_S
        if len(self._coming) > MAX_CHATS:
            self._coming.popitem(last=False)

    def leave(self, received: MessageContext) -> None:
        """Stop waiting for a message that arrived or was handled earlier."""
        chat = self._coming.get(received.message.chat_id)
        if chat is None or chat.pop(received.id, None) is None:
            return
        if not chat:
            del self._coming[received.message.chat_id]
        self._moved.set()
        self._moved = asyncio.Event()

    async def turn(self, received: MessageContext) -> None:
        """Return when all earlier messages of the chat have arrived or their wait has expired."""
        while (wait_s := self._wait_s(received)) > 0:
            await sleep_or_event(self._clock, wait_s, self._moved)
        self.leave(received)

    def _wait_s(self, received: MessageContext) -> float:
        now, wait_s = self._clock.monotonic(), 0.0
        for id_, until in self._coming.get(received.message.chat_id, {}).items():
            if id_ == received.id:
                return wait_s
            wait_s = max(wait_s, until - now)
        return 0.0
