"""The work for each chat as all processes see it, so that a person can cancel what another one does.

A process that works on an event looks every second whether the event was cancelled elsewhere.
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
KEPT_S = 86_400.0  # what never ended, because its event was lost with the store


# Entries of a chat: the numbers of its last cancellation and of its last reset, and its events, each with a time.
_BEFORE, _RESET = "before", "reset"
_Entries = dict[str, tuple[int, float]]


class ChatWork:
    """Which events of a chat are being worked on, by all processes; `seq` is the order in which events came.

    Each chat and each history is one text: its entries as JSON. An event has 1 in place of a number once it is
    cancelled, else 0.
    """

    def __init__(self, open_table: OpenTable) -> None:
        self._chats = open_table("chat-work", KEPT_S)

    async def begin(self, chat_id: str, received_id: str, seq: int) -> bool:
        """Keep that the work on an event begins; return False if it was cancelled before."""

        def begin(entries: _Entries, now: float) -> bool:
            before, _ = entries.get(_BEFORE, (0, now))
            cancelled, _ = entries.setdefault(received_id, (0, now))
            if cancelled or 0 < seq < before:
                del entries[received_id]
                return False
            return True

        return bool(await self._change(chat_id, begin))

    async def end(self, chat_id: str, received_id: str) -> None:
        """Forget an event that is worked on no more."""
        await self._change(chat_id, lambda entries, _: entries.pop(received_id, None) is not None)

    async def is_cancelled(self, chat_id: str, received_id: str) -> bool:
        """Whether an event that is worked on was cancelled."""
        return _entries(await self._chats.get(chat_id)).get(received_id, (0, 0.0))[0] == 1

    async def cancel(self, chat_id: str, received_id: str, but: Collection[str], before: int) -> int:
        """Cancel the work on an event, or with an empty `received_id` that of the chat but some events.

        Return the number. If there is any, events of the chat that came earlier than `before` are cancelled as soon
        as their work begins.
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
        """Keep that what came earlier than `before` is not to become part of a history."""

        def forget(entries: _Entries, now: float) -> int:
            entries[_RESET] = (before, now)
            return 1

        await self._change(history, forget)

    async def is_forgotten(self, history: str, seq: int) -> bool:
        """Whether an event came before its history was forgotten last."""
        return _entries(await self._chats.get(history)).get(_RESET, (0, 0.0))[0] > seq

    async def _change(self, chat_id: str, change: Callable[[_Entries, float], int]) -> int:
        """Change the entries of a chat that are not too old; return what `change` returned."""
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
            log.debug(
                "the end of the work could not be published", extra={"event": received.id, "reason": error.sentence()}
            )

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
            log.debug("a reset could not be read", extra={"event": received.id, "reason": error.sentence()})
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
                log.debug("cancelled work could not be read", extra={"event": received.id, "reason": error.sentence()})
