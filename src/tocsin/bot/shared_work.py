"""The work for each chat as all processes see it, so that a person can cancel what another one does.

A process that works on an event looks every second whether the event was cancelled elsewhere.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Protocol

from tocsin.bot.contract import history_key
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import MessageContext

log = logging.getLogger(__name__)

LOOK_S = 1.0
KEPT_S = 86_400.0  # what never ended, because its event was lost with the store


class ChatWork(Protocol):
    """Which events of a chat are being worked on, by all processes; `seq` is the order in which events came."""

    async def begin(self, chat_id: str, received_id: str, seq: int) -> bool:
        """Keep that the work on an event begins; return False if it was cancelled before."""
        ...

    async def end(self, chat_id: str, received_id: str) -> None:
        """Forget an event that is worked on no more."""
        ...

    async def is_cancelled(self, chat_id: str, received_id: str) -> bool:
        """Whether an event that is worked on was cancelled."""
        ...

    async def cancel(self, chat_id: str, received_id: str, but: Collection[str], before: int) -> int:
        """Cancel the work on an event, or with an empty `received_id` that of the chat but some events.

        Return the number. If there is any, events of the chat that came earlier than `before` are cancelled as soon
        as their work begins.
        """
        ...

    async def forget(self, history: str, before: int) -> None:
        """Keep that what came earlier than `before` is not to become part of a history."""
        ...

    async def is_forgotten(self, history: str, seq: int) -> bool:
        """Whether an event came before its history was forgotten last."""
        ...


class SharedWork:
    """What this process tells the others about its work, and learns of them."""

    def __init__(self, store: ChatWork, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def begin(self, received: MessageContext) -> bool:
        """Tell that the work on an event begins; return False if it was cancelled before."""
        return await self._store.begin(received.message.chat_id, received.id, received.seq)

    async def end(self, received: MessageContext) -> None:
        """Tell that the work has ended; while the store is away, the entry stays until it is too old."""
        try:
            await self._store.end(received.message.chat_id, received.id)
        except StoreUnavailableError as error:
            log.debug("the end of work is not told", extra={"event": received.id, "reason": error.sentence()})

    async def cancel(self, received: MessageContext, id: str, but: Collection[str]) -> int:
        """Cancel in other processes what the author of `received` wants cancelled; return the number."""
        return await self._store.cancel(received.message.chat_id, id, but, received.seq if not id else 0)

    async def forget(self, received: MessageContext) -> None:
        """Keep what other processes do for a chat out of its history, which the author of `received` has forgotten."""
        if received.seq:
            await self._store.forget(history_key(received.message), received.seq)

    async def is_forgotten(self, received: MessageContext) -> bool:
        """Whether the history was forgotten since `received` came; unknown, so False, while the store is away."""
        try:
            return bool(received.seq) and await self._store.is_forgotten(history_key(received.message), received.seq)
        except StoreUnavailableError as error:
            log.debug("a reset is not known", extra={"event": received.id, "reason": error.sentence()})
            return False

    @asynccontextmanager
    async def watched(self, received: MessageContext, cancel: Callable[[], object]) -> AsyncIterator[None]:
        """Call `cancel` during the block if another process has cancelled the event."""
        task = asyncio.create_task(self._watch(received, cancel))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _watch(self, received: MessageContext, cancel: Callable[[], object]) -> None:
        while True:
            await self._clock.sleep(LOOK_S)
            try:
                if await self._store.is_cancelled(received.message.chat_id, received.id):
                    cancel()
                    return
            except StoreUnavailableError as error:
                log.debug("cancelled work is not known", extra={"event": received.id, "reason": error.sentence()})
