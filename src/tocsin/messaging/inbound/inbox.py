"""Store received events durably, then process them, also after a crash.

Each process handles the events that it accepted, and those it takes over from processes that have ended
(`core/process/presence.py`). An ordinary event waits while another process has an earlier one of its chat.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from tocsin.channels.conversation import UpdateLease
from tocsin.channels.inbound import InboundMessage
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.process.presence import Presence
from tocsin.core.service import ServiceLoop
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.audit_actions import INBOX, MSG_RECEIVE
from tocsin.messaging.inbound.lanes import Lanes
from tocsin.messaging.inbound.model import Backlog, InboxEvent, QueuedEvent
from tocsin.messaging.inbound.store import SET_ASIDE, Cursor, InboxStore
from tocsin.messaging.inbound.work import InboxWork

log = logging.getLogger(__name__)

SWEEP_S = 2.0  # interval at which events of ended processes are taken over
# The grace period for running work at a stop; the rest starts over in another process.
DRAIN_S = 5.0
# The lifetime of the addresses that answer an event directly; no provider keeps them longer.
CONTEXT_S = 1800.0
MAX_CONTEXTS = 10_000
RECENT = 100  # events among which `find_ended` looks

# Receives the channel, the kind, and `new` or `duplicate`.
OnReceived = Callable[[str, str, str], None]
BeforeTakingOver = Callable[[str], Awaitable[None]]


async def _no_op(owner: str) -> None:
    pass


class Inbox:
    """Accepts events, and processes them until it is stopped."""

    def __init__(
        self,
        store: InboxStore,
        work: InboxWork,
        audit: AuditTrail,
        clock: Clock,
        presence: Presence,
        *,
        before_taking_over: BeforeTakingOver = _no_op,
        on_received: OnReceived | None = None,
    ) -> None:
        """Call `before_taking_over` with the identity of a process whose events are about to start over.

        `on_received` is called for every event that is accepted here.
        """
        self.owner = presence.identity
        self._presence = presence
        self._before_taking_over = before_taking_over
        self._store = store
        self._work = work
        self._audit = audit
        self._clock = clock
        self._on_received = on_received
        self._contexts = _Contexts(clock)
        self._lanes = Lanes()
        self._unknown: set[int] = set()  # events set aside, because this version cannot read them
        self._set_aside = 0  # the number of events set aside, at the last look
        self._may_resume = False  # an event of another process has ended, and one of this process waited for it
        self._sweep_at = clock.monotonic()
        self._loop = ServiceLoop("the inbox", self._step, clock, on_failure=self._failed, drain_s=DRAIN_S)

    @property
    def problem(self) -> str:
        """The reason why no events are processed at present, or an empty string; shown by the health check."""
        return self._loop.problem

    async def accept(
        self, messages: Sequence[InboundMessage], *, cursor: Cursor | None = None, lease: int = 0
    ) -> list[bool]:
        """Store events and the cursor in one transaction; return for each event whether it is new.

        The events are durable when this returns, and may then be acknowledged. Raises StoreUnavailableError, and
        UpdateLeaseLostError if another process has taken over the lease with that token.
        """
        # Once this process stops, new events have no owner: any process may claim them.
        owner = "" if self._loop.stopping else self.owner
        tickets = await self._store.accept(messages, owner, cursor, lease)
        for message, ticket in zip(messages, tickets, strict=True):
            self._note(message, ticket)
        if owner:
            self._lanes.add(ticket for ticket in tickets if ticket)
            self._loop.wake()
        return [ticket is not None for ticket in tickets]

    async def cursor(self, name: str) -> int | None:
        """Return the cursor that `accept` stored last under `name`."""
        return await self._store.cursor(name)

    def lease(self, name: str) -> UpdateLease | None:
        """Return the lease of a cursor for one fetcher; `None` if a lock file is used instead."""
        return self._store.lease(name, f"{self.owner}:{new_id()}")

    async def backlog(self) -> Backlog:
        """Return the number of open events of all processes."""
        return await self._store.backlog()

    async def find_ended(self, message_id: str) -> InboxEvent | None:
        """Return the event of a message among the latest ones, once it has ended."""
        latest = await self._store.search(RECENT)
        found = next((each for each in latest if each.message and each.message.id == message_id), None)
        return found if found is not None and found.finished_at is not None else None

    def _note(self, message: InboundMessage, ticket: QueuedEvent | None) -> None:
        if self._on_received is not None:
            self._on_received(message.channel, str(message.kind), "new" if ticket else "duplicate")
        if ticket is None:
            return
        if message.reply_context:
            self._contexts.keep(ticket.id, message.reply_context)
        facts = {
            "event": ticket.id,
            "channel": message.channel,
            "chat": message.chat_id,
            "sender": message.sender_id,
            "kind": str(message.kind),
            "keys": list(message.dedupe_keys),
        }
        detail = f"a {message.kind} on {message.channel} in chat {message.chat_id}"
        self._audit.record(MSG_RECEIVE, detail, source=INBOX.name, metadata=facts)

    def stop(self) -> None:
        """Start no more work; `run` returns when running work has finished, or after `DRAIN_S`."""
        self._loop.stop()

    async def run(self) -> None:
        """Process events until `stop`; retry a failing store with exponential back-off."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._store.listen(self.owner, self._resume))
            await self._loop.run()
            listening.cancel()
        try:
            await self._store.release(self.owner)
        except TocsinError as error:  # other processes find them, because this one is about to end
            log.warning("open messages could not be released", extra={"reason": error.sentence()})

    def _resume(self) -> None:
        self._may_resume = True
        self._loop.wake()

    async def _step(self) -> float:
        """Start the events that may start now; return the wait until more may start."""
        if self._may_resume:
            self._may_resume = False
            self._lanes.resume()
        if self._clock.monotonic() >= self._sweep_at:
            await self._sweep()
            self._lanes.resume()
            self._sweep_at = self._clock.monotonic() + SWEEP_S
        picked = self._lanes.pick()
        if not picked:
            return max(0.0, self._sweep_at - self._clock.monotonic())
        try:
            claim = await self._store.claim([ticket.seq for ticket in picked], self.owner)
        except BaseException:
            self._lanes.put_back(picked)
            raise
        self._lanes.hold(ticket for ticket in picked if ticket.seq in claim.waiting)
        claimed = {entry.seq: entry for entry in claim.events}
        for ticket in picked:
            if ticket.seq in claim.waiting or ticket.seq in claim.unknown:
                continue
            if (entry := claimed.get(ticket.seq)) is None:
                self._lanes.done(ticket)  # another process has taken it over
                continue
            self._loop.start(self._work_off(ticket, entry), name=f"event {ticket.id}")
        if claim.unknown:
            await self._leave_to_another_version([ticket for ticket in picked if ticket.seq in claim.unknown])
        return 0.0

    async def _work_off(self, ticket: QueuedEvent, entry: InboxEvent) -> None:
        try:
            await self._work.work_off(entry, self.owner, self._contexts.take(entry.id))
        except Exception:  # an exception would end all other work; the next sweep finds the event again
            log.exception("the end of a message could not be stored", extra={"event": entry.id})
        finally:
            self._lanes.done(ticket)

    async def _sweep(self) -> None:
        """Take over events of ended processes, and renew this process's presence."""
        owners = await self._store.owners()
        mine = owners.get(self.owner, 0)
        if mine > len(self._lanes):
            # Events of an earlier inbox in this process, or stored after their caller was cancelled.
            await self._take_over(self.owner)
        if "" in owners:
            await self._take_over("")
        if (aside := owners.get(SET_ASIDE, 0)) != self._set_aside:
            self._set_aside = aside
            await self._take_over(SET_ASIDE)
        for owner in await self._presence.gone(owners.keys() - {"", SET_ASIDE}):
            log.info("taking over the messages of a process that has ended", extra={"ended": owner})
            await self._end_children(owner)
            await self._take_over(owner)
        if mine:
            await self._presence.beat()

    async def _end_children(self, owner: str) -> None:
        try:
            await self._before_taking_over(owner)
        except Exception:
            log.exception("ending the unfinished work of a dead process failed", extra={"ended": owner})

    async def _take_over(self, owner: str) -> None:
        while not self._loop.stopping:
            known = self._known_events(owner)
            tickets = await self._store.adopt(owner, self.owner, known)
            self._lanes.add(tickets)
            if not tickets:
                return

    def _known_events(self, owner: str) -> Collection[int]:
        if owner == SET_ASIDE:
            return self._unknown
        return self._lanes.known() if owner == self.owner else ()

    async def _leave_to_another_version(self, tickets: Sequence[QueuedEvent]) -> None:
        """Set events aside whose kind or form this version does not know."""
        for ticket in tickets:
            self._lanes.done(ticket)
        numbers = {ticket.seq for ticket in tickets}
        log.warning(
            "received events of an unknown type wait for a newer version",
            extra={"events": len(numbers), "first": tickets[0].id},
        )
        self._unknown |= numbers
        await self._store.set_aside(numbers, self.owner)

    async def _failed(self, error: Exception, before: int) -> None:
        level = logging.DEBUG if before else logging.ERROR
        if isinstance(error, TocsinError):
            log.log(level, "the inbox cannot be processed", extra={"reason": error.sentence()})
        else:
            log.log(level, "the inbox cannot be processed", exc_info=error)


class _Contexts:
    """The reply contexts of events by event ID: in memory only, never stored or logged."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_event: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    def keep(self, event: str, context: Mapping[str, Any]) -> None:
        now = self._clock.monotonic()
        self._by_event[event] = (now + CONTEXT_S, context)
        while len(self._by_event) > MAX_CONTEXTS or next(iter(self._by_event.values()))[0] <= now:
            self._by_event.popitem(last=False)

    def take(self, event: str) -> Mapping[str, Any]:
        expires_at, context = self._by_event.pop(event, (0.0, {}))
        return context if self._clock.monotonic() < expires_at else {}
