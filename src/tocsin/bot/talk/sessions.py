"""The history of each chat: a sliding window that expires after a period without messages.

The bot uses `Sessions`: Redis while it is available, otherwise the memory of this process.
"""

import asyncio
import logging
import uuid
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from tocsin.bot.contract import ASSISTANT, LABELS, USER
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.clock import Clock

T = TypeVar("T")

# Maximum number of chats in memory; the one with the oldest last message is evicted first.
MAX_CHATS = 1000
# IDs of exchanges remembered per chat: a retry follows soon, with few messages in between.
MAX_IDS = 200
# How long Redis is not tried after a failure: detecting a paused server takes seconds.
AWAY_S = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One message of a chat's history."""

    chat_id: str
    role: str  # user or assistant
    content: str
    message_id: str = ""  # the product's ID, if the message may still be edited

    def __post_init__(self) -> None:
        if self.role not in LABELS:
            raise ValueError(f"a session has the roles {' and '.join(LABELS)}, not {self.role!r}")


class SessionStore(Protocol):
    """The storage of histories. Every call may raise StoreUnavailableError and can then be retried."""

    async def append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:
        """Append all entries, or none if `id` was appended before; trim and refresh. Return True if appended."""

    async def edit(self, entry: SessionEntry) -> bool:
        """Replace the content of the entry with that message ID; return True if there is one."""

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        """Return the window, the oldest first."""

    async def clear(self, chat_id: str) -> None:
        """Delete the window; IDs are kept, so that a late retry does not restore an exchange."""

    async def chats(self) -> tuple[str, ...]:
        """Return the chats that have a window, at most `MAX_CHATS` of them."""


@dataclass(slots=True)
class _Chat:
    window: deque[SessionEntry]
    ids: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_IDS))
    ends_at: float = 0.0


class MemorySessions:
    """Histories in the memory of one process."""

    def __init__(self, clock: Clock, *, ttl_s: float, window: int, max_chats: int = MAX_CHATS) -> None:
        self._clock = clock
        self._ttl_s = ttl_s
        self._window = window
        self._max_chats = max_chats
        self._chats: OrderedDict[str, _Chat] = OrderedDict()  # ordered by last message, the oldest first

    async def append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:
        chat = self._find(chat_id) or _Chat(deque(maxlen=self._window))
        if id in chat.ids:
            return False
        chat.window.extend(entries)
        chat.ids.append(id)
        self._refresh(chat_id, chat)
        return True

    async def edit(self, entry: SessionEntry) -> bool:
        chat = self._find(entry.chat_id)
        if chat is None:
            return False
        for place, old in enumerate(chat.window):
            if old.message_id == entry.message_id and old.role == entry.role:
                chat.window[place] = entry
                self._refresh(entry.chat_id, chat)
                return True
        return False

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        chat = self._find(chat_id)
        return tuple(chat.window) if chat else ()

    async def clear(self, chat_id: str) -> None:
        if chat := self._find(chat_id):
            chat.window.clear()

    def replace(self, chat_id: str, entries: Sequence[SessionEntry]) -> None:
        """Replace the window with the window of another store."""
        if not entries and chat_id not in self._chats:
            return
        chat = self._find(chat_id) or _Chat(deque(maxlen=self._window))
        chat.window.clear()
        chat.window.extend(entries)
        self._refresh(chat_id, chat)

    def windows(self) -> dict[str, tuple[SessionEntry, ...]]:
        found = ((chat_id, self._find(chat_id)) for chat_id in tuple(self._chats))
        return {chat_id: tuple(chat.window) for chat_id, chat in found if chat and chat.window}

    async def chats(self) -> tuple[str, ...]:
        return tuple(self.windows())

    def __len__(self) -> int:
        return len(self._chats)

    def _find(self, chat_id: str) -> _Chat | None:
        """Return a chat whose window has not expired."""
        chat = self._chats.get(chat_id)
        if chat is not None and chat.ends_at <= self._clock.monotonic():
            del self._chats[chat_id]
            return None
        return chat

    def _refresh(self, chat_id: str, chat: _Chat) -> None:
        chat.ends_at = self._clock.monotonic() + self._ttl_s
        self._chats[chat_id] = chat
        self._chats.move_to_end(chat_id)
        while len(self._chats) > self._max_chats:
            self._chats.popitem(last=False)


Change = Callable[[SessionStore], Awaitable[object]]


def _appending(chat_id: str, entries: Sequence[SessionEntry]) -> Change:
    id_ = uuid.uuid4().hex  # the same if it is repeated on Redis
    return lambda store: store.append(chat_id, entries, id_)


@dataclass(slots=True)
class _Owed:
    """The changes of one chat that Redis missed, the oldest first."""

    changes: deque[Change] = field(default_factory=lambda: deque(maxlen=MAX_IDS))
    ends_at: float = 0.0


class Sessions:
    """The operations of `SessionStore`, on Redis while it is available; never raises if a store is unavailable.

    Memory follows every change, so a chat continues if Redis becomes unavailable. Changes made meanwhile are replayed
    on Redis once it is available, at the next message of that chat.
    """

    def __init__(
        self,
        clock: Clock,
        redis: SessionStore | None = None,
        *,
        ttl_s: float,
        window: int,
        max_chats: int = MAX_CHATS,
    ) -> None:
        self._clock = clock
        self._redis = redis
        self._ttl_s = ttl_s
        self._max_chats = max_chats
        self._memory = MemorySessions(clock, ttl_s=ttl_s, window=window, max_chats=max_chats)
        self._away = False
        self._away_until = float("-inf")
        self._owed: OrderedDict[str, _Owed] = OrderedDict()
        # Locks keep the changes of one chat in the same order in both stores. Chats share locks, which costs less
        # than one lock per chat.
        self._locks = [asyncio.Lock() for _ in range(64)]

    @property
    def uses_redis(self) -> bool:
        """Whether histories are stored in Redis, even if it is unavailable at the moment."""
        return self._redis is not None

    def use(self, redis: SessionStore) -> None:
        """Store histories in Redis from now on; those in memory are copied at the next message of each chat."""
        self._redis = redis
        for chat_id, entries in self._memory.windows().items():
            self._owe(chat_id, _appending(chat_id, entries))

    async def add(self, chat_id: str, role: str, content: str, message_id: str = "") -> None:
        """Append one message, trim to the window, refresh the time to live."""
        await self._append(chat_id, [SessionEntry(chat_id, role, content, message_id)], uuid.uuid4().hex)

    async def add_exchange(self, chat_id: str, question: str, answer: str, id: str, message_id: str = "") -> bool:
        """Append question and answer together, once per `id`; return True if they were new."""
        entries = [SessionEntry(chat_id, USER, question, message_id), SessionEntry(chat_id, ASSISTANT, answer)]
        return await self._append(chat_id, entries, id)

    async def edit(self, chat_id: str, message_id: str, content: str) -> bool:
        """Replace the text of a person's message; return True if the window still contains it."""
        if not message_id:
            return False
        entry = SessionEntry(chat_id, USER, content, message_id)
        return await self._change(chat_id, lambda store: store.edit(entry))

    async def get(self, chat_id: str) -> tuple[SessionEntry, ...]:
        async with self._lock(chat_id):
            if redis := await self._replay_missed(chat_id):
                try:
                    entries = await redis.get(chat_id)
                except StoreUnavailableError as error:
                    self._lost(error)
                else:
                    self._memory.replace(chat_id, entries)
                    return entries
            return await self._memory.get(chat_id)

    async def chats(self) -> tuple[str, ...]:
        if self._redis is not None and self._clock.monotonic() >= self._away_until:
            try:
                return await self._redis.chats()
            except StoreUnavailableError as error:
                self._lost(error)
        return await self._memory.chats()

    async def clear(self, chat_id: str) -> None:
        await self._change(chat_id, lambda store: store.clear(chat_id))

    async def format_context(self, chat_id: str) -> str:
        """Return the window as alternating `Human: …` and `Assistant: …`; consecutive messages of one side are
        joined.
        """
        sides: list[SessionEntry] = []
        for entry in await self.get(chat_id):
            if sides and sides[-1].role == entry.role:
                sides[-1] = replace(entry, content=f"{sides[-1].content}\n{entry.content}")
            else:
                sides.append(entry)
        return "\n".join(f"{LABELS[entry.role]}: {entry.content}" for entry in sides)

    async def _append(self, chat_id: str, entries: Sequence[SessionEntry], id: str) -> bool:
        return await self._change(chat_id, lambda store: store.append(chat_id, entries, id))

    async def _change(self, chat_id: str, change: Callable[[SessionStore], Awaitable[T]]) -> T:
        async with self._lock(chat_id):
            redis = await self._replay_missed(chat_id)
            done = await change(self._memory)
            if redis:
                try:
                    return await change(redis)
                except StoreUnavailableError as error:
                    self._lost(error)
            if self._redis:
                self._owe(chat_id, change)
            return done

    def _lock(self, chat_id: str) -> asyncio.Lock:
        return self._locks[hash(chat_id) % len(self._locks)]

    async def _replay_missed(self, chat_id: str) -> SessionStore | None:
        """Return Redis after replaying the missed changes of this chat; `None` while it is unavailable."""
        if self._redis is None or self._clock.monotonic() < self._away_until:
            return None
        try:
            if self._away:
                # One call detects whether it is available again; the others do not wait for that.
                self._away_until = self._clock.monotonic() + AWAY_S
                await self._redis.get(chat_id)
            await self._pay(self._redis, chat_id)
        except StoreUnavailableError as error:
            self._lost(error)
            return None
        self._found()
        return self._redis

    async def _pay(self, redis: SessionStore, chat_id: str) -> None:
        owed = self._owed.get(chat_id)
        if owed is None:
            return
        while owed.changes and self._clock.monotonic() < owed.ends_at:
            await owed.changes[0](redis)
            owed.changes.popleft()
        self._owed.pop(chat_id, None)

    def _owe(self, chat_id: str, change: Change) -> None:
        owed = self._owed.setdefault(chat_id, _Owed())
        owed.changes.append(change)
        owed.ends_at = self._clock.monotonic() + self._ttl_s
        self._owed.move_to_end(chat_id)
        while len(self._owed) > self._max_chats:
            self._owed.popitem(last=False)

    def _lost(self, error: StoreUnavailableError) -> None:
        self._away_until = self._clock.monotonic() + AWAY_S
        if not self._away:
            self._away = True
            log.warning("sessions are kept in memory for now", extra={"reason": error.sentence()})

    def _found(self) -> None:
        self._away_until = float("-inf")
        if self._away:
            self._away = False
            log.info("sessions are kept in Redis again")
