"""Choose the next events of this process: the oldest first, but no chat may take all slots.

Only the order is kept in memory; an event is read when its turn comes.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush

from tocsin.messaging.inbound.model import Chat, QueuedEvent

URGENT_PLACES = 64
ORDINARY_PLACES = 256
OF_ONE_CHAT = 32


class Lanes:
    """Two lanes of events; urgent ones never wait for ordinary ones."""

    def __init__(self) -> None:
        self._urgent = _Lane(URGENT_PLACES)
        self._ordinary = _Lane(ORDINARY_PLACES)
        self._known: set[int] = set()

    def __len__(self) -> int:
        """Return the number of events that wait or are being worked on."""
        return len(self._known)

    @property
    def running(self) -> int:
        """The number of events being worked on."""
        return self._urgent.running + self._ordinary.running

    def known(self) -> frozenset[int]:
        """Return the `seq` of all events that wait or are being worked on."""
        return frozenset(self._known)

    def add(self, tickets: Iterable[QueuedEvent]) -> None:
        """Add events; one that is known already keeps its place."""
        for ticket in tickets:
            if ticket.seq not in self._known:
                self._known.add(ticket.seq)
                self._lane(ticket).wait(ticket)

    def pick(self) -> list[QueuedEvent]:
        """Pick all events that may start now."""
        return [*self._urgent.pick(), *self._ordinary.pick()]

    def put_back(self, tickets: Iterable[QueuedEvent]) -> None:
        """Put back picked events whose work has not begun."""
        for ticket in tickets:
            self._lane(ticket).leave(ticket.chat)
            self._lane(ticket).wait(ticket)

    def hold(self, tickets: Iterable[QueuedEvent]) -> None:
        """Put back picked events, and pick no ordinary one of their chats until `resume`."""
        for ticket in tickets:
            self._lane(ticket).hold(ticket)

    def resume(self) -> None:
        """Pick events of all chats again."""
        self._ordinary.resume()

    def done(self, ticket: QueuedEvent) -> None:
        """Remove a picked event and free its slot."""
        self._known.discard(ticket.seq)
        self._lane(ticket).leave(ticket.chat)

    def _lane(self, ticket: QueuedEvent) -> "_Lane":
        return self._urgent if ticket.urgent else self._ordinary


class _Lane:
    def __init__(self, places: int) -> None:
        self._places = places
        self._waiting: dict[Chat, list[tuple[int, QueuedEvent]]] = {}  # one heap per chat
        # The first event of each chat with a free slot; some entries are out of date.
        self._heads: list[tuple[int, Chat]] = []
        self._busy: Counter[Chat] = Counter()
        self._on_hold: set[Chat] = set()
        self.running = 0

    def wait(self, ticket: QueuedEvent) -> None:
        queue = self._waiting.setdefault(ticket.chat, [])
        heappush(queue, (ticket.seq, ticket))
        if queue[0][1] is ticket:
            self._offer(ticket.chat)

    def pick(self) -> list[QueuedEvent]:
        picked = []
        while self.running < self._places and self._heads:
            seq, chat = heappop(self._heads)
            queue = self._waiting.get(chat)
            if not queue or queue[0][0] != seq or not self._has_room(chat):
                continue
            picked.append(heappop(queue)[1])
            if not queue:
                del self._waiting[chat]
            self._busy[chat] += 1
            self.running += 1
            self._offer(chat)
        return picked

    def hold(self, ticket: QueuedEvent) -> None:
        self._on_hold.add(ticket.chat)
        self.leave(ticket.chat)
        self.wait(ticket)

    def resume(self) -> None:
        resumed, self._on_hold = self._on_hold, set()
        for chat in resumed:
            self._offer(chat)

    def leave(self, chat: Chat) -> None:
        self.running -= 1
        self._busy[chat] -= 1
        if not self._busy[chat]:
            del self._busy[chat]
        self._offer(chat)

    def _offer(self, chat: Chat) -> None:
        queue = self._waiting.get(chat)
        if queue and self._has_room(chat):
            heappush(self._heads, (queue[0][0], chat))

    def _has_room(self, chat: Chat) -> bool:
        return chat not in self._on_hold and self._busy[chat] < OF_ONE_CHAT
