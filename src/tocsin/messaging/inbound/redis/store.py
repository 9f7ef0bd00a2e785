"""The inbox in Redis, shared by the processes of all hosts. Every step is one Lua script of `lua/`."""

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from tocsin.channels.conversation import UpdateLeaseLostError
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.change_stream import RedisChangeStream
from tocsin.core.storage.redis_client import Argument, RedisClient
from tocsin.core.storage.redis_failures import failure
from tocsin.core.storage.redis_time import TimedScripts
from tocsin.core.text.strings import storable
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.model import URGENT, Backlog, InboxEvent, InboxStatus, QueuedEvent
from tocsin.messaging.inbound.redis import scripts
from tocsin.messaging.inbound.redis.lease import RedisLease
from tocsin.messaging.inbound.store import (
    ADOPTED_AT_ONCE,
    MAX_KEYS,
    MAX_ROWS,
    PRUNED_AT_ONCE,
    SET_ASIDE,
    Claim,
    Cursor,
    encode,
    known_events,
)

log = logging.getLogger(__name__)

# The duration of one wait for a message of the subscription, and the pause after a failure of Redis.
LISTEN_S = 1.0
BACK_OFF_S = 2.0
# Limits the duration of one script to a few milliseconds, because other hosts wait for it.
MOVED_AT_ONCE = 500
_OPEN = (InboxStatus.NEW, InboxStatus.WORKING, InboxStatus.REPLYING)


class RedisInbox:
    """The events of all processes that share a Redis."""

    def __init__(
        self,
        client: RedisClient,
        clock: Clock,
        *,
        prefix: str = "tocsin",
        max_keys: int = MAX_KEYS,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._prefix = f"{{{prefix}:inbox}}:"
        self._topic = f"{prefix}:inbox:woken:"
        self._scripts = TimedScripts(client, self._prefix.encode(), clock)
        self._max_keys = max_keys
        self._max_rows = max_rows

    async def accept(
        self, messages: Sequence[InboundMessage], owner: str, cursor: Cursor | None = None, lease: int = 0
    ) -> list[QueuedEvent | None]:
        name, position = cursor or ("", 0)
        args: list[Argument] = [repr(self._clock.now()), owner, name, position, lease, self._max_keys]
        events = [_Event(message) for message in messages]
        for event in events:
            args += event.words
        answers = await self._scripts.run(scripts.ACCEPT, args)
        if not answers:
            raise UpdateLeaseLostError(f"another process fetches the updates of {name}; no update was stored")
        return [event.queued(int(seq)) if seq else None for event, seq in zip(events, answers[0], strict=True)]

    async def cursor(self, name: str) -> int | None:
        position = await self._client.command("HGET", f"{self._prefix}cursors", name)
        return None if position is None else int(position)

    async def claim(self, seqs: Sequence[int], owner: str) -> Claim:
        due, waiting = await self._scripts.run(scripts.CLAIM, [owner, *seqs])
        events, unknown = known_events(_rows(due))
        return Claim(events, {int(seq) for seq in waiting}, unknown)

    async def begin(self, seq: int, owner: str) -> bool:
        return await self._is_held(scripts.BEGIN, [seq, owner])

    async def outcome(
        self, seq: int, owner: str, ending: HandlingStatus, replies: Iterable[Reply], reason: str = ""
    ) -> bool:
        return await self._is_held(scripts.OUTCOME, [seq, owner, ending, encode(replies), storable(reason)])

    async def finish(self, seq: int, owner: str, ending: HandlingStatus, reason: str = "") -> bool:
        args: list[Argument] = [seq, owner, ending, storable(reason), repr(self._clock.now())]
        return await self._is_held(scripts.FINISH, args)

    async def _is_held(self, script: Any, args: Sequence[Argument]) -> bool:
        (held,) = await self._scripts.run(script, args)
        return bool(held)

    async def owners(self) -> dict[str, int]:
        found = await self._client.command("HGETALL", f"{self._prefix}owners")
        return {owner.decode(): int(count) for owner, count in found.items()}

    async def adopt(
        self, owner: str, heir: str, known: Collection[int] = (), limit: int = ADOPTED_AT_ONCE
    ) -> list[QueuedEvent]:
        (rows,) = await self._scripts.run(scripts.ADOPT, [owner, heir, min(limit, MOVED_AT_ONCE), *known])
        return [
            QueuedEvent(int(seq), id_.decode(), (channel.decode(), chat.decode()), bool(urgent))
            for seq, id_, channel, chat, urgent in rows
        ]

    async def set_aside(self, seqs: Collection[int], owner: str) -> None:
        await self._scripts.run(scripts.SET_ASIDE, [owner, SET_ASIDE, *seqs])

    async def release(self, owner: str) -> None:
        while await self.adopt(owner, ""):
            pass

    async def listen(self, owner: str, wake: Callable[[], None]) -> None:
        while True:
            try:
                await self._listen(self._topic + owner, wake)
            except Exception as error:
                # Work continues without the subscription, because the inbox polls every two seconds. Other components
                # report that Redis is unavailable; any other error is a bug.
                known = isinstance(failure(error, self._client.where), StoreUnavailableError)
                level = logging.DEBUG if known else logging.ERROR
                log.log(level, "other processes cannot wake this one", exc_info=None if known else error)
            await self._clock.sleep(BACK_OFF_S)

    async def _listen(self, topic: str, wake: Callable[[], None]) -> None:
        async with self._client.pubsub() as subscription:
            await subscription.subscribe(topic)
            while True:
                # The first message confirms the subscription; anything published before it was missed.
                if await subscription.get_message(timeout=LISTEN_S) is not None:
                    wake()

    def lease(self, name: str, holder: str) -> RedisLease:
        return RedisLease(self._scripts, name, holder)

    async def backlog(self) -> Backlog:
        (rows,) = await self._scripts.run(scripts.COUNTS, list(_OPEN))
        counts = {status: count for status, (count, _, _) in zip(_OPEN, rows, strict=True) if count}
        oldest = min(((seq, at) for count, seq, at in rows if count), default=None)
        return Backlog(counts, float(oldest[1]) if oldest else None)

    async def counts(self) -> dict[InboxStatus, int]:
        statuses = list(InboxStatus)
        (rows,) = await self._scripts.run(scripts.COUNTS, statuses)
        return {status: count for status, (count, _, _) in zip(statuses, rows, strict=True) if count}

    async def search(
        self, limit: int = 50, *, status: InboxStatus | None = None, before: int | None = None
    ) -> list[InboxEvent]:
        args: list[Argument] = [status or "", "" if before is None else before, limit]
        (rows,) = await self._scripts.run(scripts.SEARCH, args)
        return known_events(_rows(rows))[0]

    def changes(self) -> RedisChangeStream:
        return RedisChangeStream(self._client, f"{self._prefix}changes")

    async def prune(self) -> int:
        done = 0
        while changed := int((await self._scripts.run(scripts.PRUNE, [self._max_rows, PRUNED_AT_ONCE]))[0]):
            done += changed
            await asyncio.sleep(0)
        return done


class _Event:
    """An event that is about to be stored."""

    def __init__(self, message: InboundMessage) -> None:
        self._id, self._urgent = new_id(), message.kind in URGENT
        self._chat = (storable(message.channel), storable(message.chat_id))
        keys = [storable(key) for key in dict.fromkeys(message.dedupe_keys)]
        body = json.dumps(message.stored(), separators=(",", ":"))
        self.words: list[Argument] = [self._id, *self._chat, str(message.kind), int(self._urgent), body]
        self.words += [len(keys), *keys]

    def queued(self, seq: int) -> QueuedEvent:
        return QueuedEvent(seq, self._id, self._chat, self._urgent)


def _rows(found: Iterable[tuple[int, Sequence[bytes]]]) -> Iterator[tuple[int, dict[str, str]]]:
    for seq, pairs in found:
        words = [word.decode(errors="replace") for word in pairs]
        yield int(seq), dict(zip(words[::2], words[1::2], strict=True))
