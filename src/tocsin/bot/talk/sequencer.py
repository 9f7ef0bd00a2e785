"""Passing the messages of a chat to the gate, and running its commands, in order of arrival.

Messages are handled concurrently, and the reads before the gate take different times. Without the sequencer a backlog
would be answered out of order, the gate would reject an earlier message in favour of a later one, and the last of two
commands such as `/mode` could lose.
"""

import asyncio
from collections import OrderedDict
from itertools import takewhile
from typing import NamedTuple

from tocsin.channels.inbound import MessageKind
from tocsin.core.time.clock import Clock, sleep_or_event
from tocsin.messaging.inbound.handling import MessageContext

# The longest wait for an earlier message: it may never arrive, because a trigger answers it.
LONGEST_S = 0.5
MAX_CHATS = 1_000


class _Coming(NamedTuple):
    until: float  # when the wait for it ends
    is_command: bool


class MessageSequencer:
    """Tracks the messages of each chat on their way to the gate."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._coming: OrderedDict[str, dict[str, _Coming]] = OrderedDict()  # by chat and event ID
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of chats with messages on their way."""
        return len(self._coming)

    def begin(self, received: MessageContext) -> None:
        """Record that a message is on its way, after all that were recorded before."""
        now, chat = self._clock.monotonic(), self._coming.setdefault(received.message.chat_id, {})
        for id_ in [*takewhile(lambda id_: chat[id_].until <= now, chat)]:  # a trigger answered it
            del chat[id_]
        chat[received.id] = _Coming(now + LONGEST_S, received.message.kind is MessageKind.COMMAND)
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
        """Return when all earlier messages of the chat have arrived or their wait has expired, and arrive."""
        await self.wait(received)
        self.leave(received)

    async def wait(self, received: MessageContext, *, for_commands: bool = False) -> None:
        """Return like `turn`, but do not arrive yet; with `for_commands`, wait only for the commands of the chat."""
        while (wait_s := self._wait_s(received, for_commands=for_commands)) > 0:
            await sleep_or_event(self._clock, wait_s, self._moved)

    def _wait_s(self, received: MessageContext, *, for_commands: bool) -> float:
        now, wait_s = self._clock.monotonic(), 0.0
        for id_, coming in self._coming.get(received.message.chat_id, {}).items():
            if id_ == received.id:
                return wait_s
            if coming.is_command or not for_commands:
                wait_s = max(wait_s, coming.until - now)
        return 0.0
