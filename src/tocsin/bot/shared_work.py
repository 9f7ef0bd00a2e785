"""The tasks of each chat across all processes, so that a person can cancel a task of another process.

A process that works on an event checks every second whether another process cancelled it.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from tocsin.bot.contract import history_key
from tocsin.bot.storage.keyed_table import OpenTable
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import MessageContext

log = logging.getLogger(__name__)

LOOK_S = 1.0
KEPT_S = 86_400.0  # for tasks that never ended because their event was lost with the store


# Entries of a chat: the numbers of its last cancellation and of its last reset, and its events, each with a time.
_BEFORE, _RESET = "before", "reset"
_Entries = dict[str, tuple[int, float]]


class ChatWork:
    """The events of each chat that any process is working on; `seq` is the order in which events arrived.

    Each chat and each history is one text: its entries as JSON. The value of an event is 1 if it is cancelled, else
    0.
    """

    def __init__(self, open_table: OpenTable) -> None:
        self._chats = open_table("chat-work", KEPT_S)

    async def begin(self, chat_id: str, received_id: str, seq: int) -> bool:
        """Record that the work on an event begins; return False if it was cancelled before."""

        def begin(entries: _Entries, now: float) -> bool:
            before, _ = entries.get(_BEFORE, (0, now))
            cancelled, _ = entries.setdefault(received_id, (0, now))
            if cancelled or 0 < seq < before:
                del entries[received_id]
                return False
            return True

        return bool(await self._change(chat_id, begin))

    async def end(self, chat_id: str, received_id: str) -> None:
        """Remove an event that is no longer worked on."""
        await self._change(chat_id, lambda entries, _: entries.pop(received_id, None) is not None)

    async def is_cancelled(self, chat_id: str, received_id: str) -> bool:
        """Return True if an event in progress was cancelled."""
        return _entries(await self._chats.get(chat_id)).get(received_id, (0, 0.0))[0] == 1

    async def cancel(self, chat_id: str, received_id: str, but: Collection[str], before: int) -> int:
        """Cancel the work on an event; with an empty `received_id`, on all events of the chat except `but`.

        Return the number of cancelled events. If it is not 0, events of the chat that arrived earlier than `before`
        are cancelled when their work begins.
        """

        def cancel(entries: _Entries, now: float) -> int:
            found = {id_ for id_, (state, _) in entries.items() if id_ not in {_BEFORE, _RESET} and not state}
            chosen = found & {received_id} if received_id else found - set(but)
            entries.update((id_, (1, entries[id_][1])) for id_ in chosen)
            if found and before:
                entries[_BEFORE] = (before, now)
            return len(chosen)

        return await self._change(chat_id, cancel)

    async def forget(self, history: str, before: int) -> None:
        """Record that messages that arrived earlier than `before` must not be added to a history."""

        def forget(entries: _Entries, now: float) -> int:
            entries[_RESET] = (before, now)
            return 1

        await self._change(history, forget)

    async def is_forgotten(self, history: str, seq: int) -> bool:
        """Return True if an event arrived before its history was last cleared."""
        return _entries(await self._chats.get(history)).get(_RESET, (0, 0.0))[0] > seq

    async def _change(self, chat_id: str, change: Callable[[_Entries, float], int]) -> int:
        """Apply `change` to the unexpired entries of a chat; return its result."""
        answer = 0

        def update(text: str | None, now: float) -> str | None:
            nonlocal answer
            entries = {name: entry for name, entry in _entries(text).items() if entry[1] > now - KEPT_S}
            answer = change(entries, now)
            return json.dumps(entries) if entries else None

        await self._chats.change(chat_id, update)
        return answer


def _entries(text: str | None) -> _Entries:
    return {name: (number, at) for name, (number, at) in json.loads(text or "{}").items()}


class SharedWork:
    """Shares the tasks of this process with other processes, and reads their cancellations."""

    def __init__(self, store: ChatWork, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def begin(self, received: MessageContext) -> bool:
        """Record that the work on an event begins; return False if it was cancelled before."""
        return await self._store.begin(received.message.chat_id, received.id, received.seq)

    async def end(self, received: MessageContext) -> None:
        """Record that the work has ended; if the store is unavailable, the entry stays until it expires."""
        try:
            await self._store.end(received.message.chat_id, received.id)
        except StoreUnavailableError as error:
            log.debug(
                "the end of the work could not be published", extra={"event": received.id, "reason": error.sentence()}
            )

    async def cancel(self, received: MessageContext, id: str, but: Collection[str]) -> int:
        """Cancel the tasks of other processes that `received` asks to cancel; return the number."""
        return await self._store.cancel(received.message.chat_id, id, but, received.seq if not id else 0)

    async def forget(self, received: MessageContext) -> None:
        """Keep tasks of other processes out of a chat's history, which `received` has cleared."""
        if received.seq:
            await self._store.forget(history_key(received.message), received.seq)

    async def is_forgotten(self, received: MessageContext) -> bool:
        """Return True if the history was cleared after `received` arrived; False if the store is unavailable."""
        try:
            return bool(received.seq) and await self._store.is_forgotten(history_key(received.message), received.seq)
        except StoreUnavailableError as error:
            log.debug("a reset could not be read", extra={"event": received.id, "reason": error.sentence()})
            return False

    @asynccontextmanager
    async def watched(self, received: MessageContext, cancel: Callable[[], object]) -> AsyncIterator[None]:
        """Call `cancel` if another process cancels the event during the block."""
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
                log.debug("cancelled work could not be read", extra={"event": received.id, "reason": error.sentence()})
