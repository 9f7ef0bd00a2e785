"""The events of the bot's conversations: what their windows hold now, and did not hold before.

The bot keeps no events, only the window that its model is shown. So this process compares what it sees with what it saw
last, and numbers what is new. The first number is that of the milliseconds of the clock: a reader who comes back with
the number of another process is told to read the conversation again.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.core.time.clock import Clock
from tocsin.features.abilities import BotWindow, ListBotWindows
from tocsin.features.chat.bot_conversations import PREFIX, conversation_of, messages_of
from tocsin.features.chat.model import (
    ASSISTANT,
    USER,
    ChatConversation,
    ChatMessage,
    UnknownConversationError,
    unknown_conversation,
)
from tocsin.features.chat.store import Transcript
from tocsin.rest.event_stream import RESYNC, FeedPage, encode_event

# A question and its answer appear together, once the answer is on its way: nobody waits for each letter here.
LOOK_EVERY_S = 1.0
MAX_EVENTS = 200
MAX_WATCHED = 1_000


@dataclass(slots=True)
class WatchedConversation:
    """One conversation as this process saw it last."""

    conversation: ChatConversation
    messages: Sequence[ChatMessage]
    number: int  # of its last event
    looked_at: float  # monotonic
    events: deque[tuple[int, str, dict[str, Any]]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    is_over: bool = False

    def add(self, event: str, data: dict[str, Any]) -> None:
        """Add an event."""
        self.number += 1
        self.events.append((self.number, event, data))

    def tell(self, event: str, message: ChatMessage) -> ChatMessage:
        """Add an event that carries a message, and return that with its number."""
        numbered = replace(message, seq=self.number + 1)
        self.add(event, {"message": numbered.as_document()})
        return numbered


class BotConversationEvents:
    """Looks at the windows of the bot, and keeps what changed in each."""

    def __init__(self, windows: ListBotWindows, clock: Clock) -> None:
        self._windows = windows
        self._clock = clock
        self._watched: OrderedDict[str, WatchedConversation] = (
            OrderedDict()
        )  # the one that was looked at longest ago is the first

    async def transcript(self, conversation_id: str, limit: int, before: str) -> Transcript:
        """Return a conversation with its last messages; raises UnknownConversationError."""
        watched = await self.look(conversation_id)
        ids = [message.id for message in watched.messages]
        if before and before not in ids:
            raise unknown_conversation(before)
        end = ids.index(before) if before else len(ids)
        start = max(0, end - limit)
        conversation = replace(watched.conversation, seq=watched.number)
        return Transcript(conversation, watched.messages[start:end], start > 0)

    async def look(self, conversation_id: str) -> WatchedConversation:
        """Return a conversation as it is now; raises UnknownConversationError where it is not, or not any more."""
        found = await self._windows(conversation_id.removeprefix(PREFIX))
        now = self._clock.monotonic()
        watched = self._watched.get(conversation_id)
        if found.chats:
            watched = self._compare(conversation_id, found.chats[0])
        elif watched is not None and not found.notice:  # else it cannot be seen at the moment
            watched.is_over = True
            del self._watched[conversation_id]
        if watched is None or watched.is_over:
            raise unknown_conversation(conversation_id)
        watched.looked_at = now
        return watched

    def known(self, conversation_id: str) -> WatchedConversation | None:
        """Return a conversation if it was looked at a moment ago."""
        watched = self._watched.get(conversation_id)
        recent = watched is not None and self._clock.monotonic() - watched.looked_at < LOOK_EVERY_S
        return watched if recent else None

    def _compare(self, conversation_id: str, chat: BotWindow) -> WatchedConversation:
        """Return what is known of a conversation, with the events that lead to what it is now."""
        conversation, messages = conversation_of(chat), messages_of(chat)
        watched = self._watched.get(conversation_id)
        if watched is None:
            number = int(self._clock.now() * 1000)
            found = [replace(message, seq=number) for message in messages]
            watched = self._watched[conversation_id] = WatchedConversation(conversation, found, number, 0.0)
        else:
            _go_on(watched, conversation, messages)
        self._watched.move_to_end(conversation_id)
        while len(self._watched) > MAX_WATCHED:
            self._watched.popitem(last=False)
        return watched


class BotConversationFeed:
    """The numbered events of one conversation of the bot."""

    def __init__(self, events: BotConversationEvents, conversation_id: str) -> None:
        self.key = conversation_id
        self._events = events

    async def end(self) -> int:
        """Return the number of the last event; raises UnknownConversationError."""
        return (await self._events.look(self.key)).number

    async def beginning(self) -> str:
        """Return the event before the last question that was seen to come; empty where none was."""
        watched = await self._events.look(self.key)
        asked = [
            number
            for number, event, data in watched.events
            if event == "message.created" and data["message"]["role"] == USER
        ]
        return f"{self.key}:{asked[-1] - 1}" if asked else ""

    async def after(self, number: int) -> FeedPage:
        """Return the events after one; of a conversation that has ended, that it is over."""
        try:
            watched = self._events.known(self.key) or await self._events.look(self.key)
        except UnknownConversationError:
            return FeedPage((), number, is_over=True)
        first = watched.events[0][0] - 1 if watched.events else watched.number
        events = [
            (each, encode_event(event, data, f"{self.key}:{each}"))
            for each, event, data in watched.events
            if each > number
        ]
        return FeedPage(events, watched.number, complete=first <= number <= watched.number)


def _go_on(watched: WatchedConversation, conversation: ChatConversation, messages: Sequence[ChatMessage]) -> None:
    """Take what a conversation is now; where that is not its end and more, readers are to begin anew."""
    before, now = [message.id for message in watched.messages], [message.id for message in messages]
    if before == now:
        return
    shared = next((length for length in range(len(before), 0, -1) if before[-length:] == now[:length]), 0)
    watched.conversation = conversation
    if not shared:
        watched.add(RESYNC, {})
        watched.messages = [replace(message, seq=watched.number) for message in messages]
        return
    found = [*watched.messages[-shared:]]
    for message in messages[shared:]:
        told = watched.tell("message.created", message)
        found.append(watched.tell("message.completed", told) if message.role == ASSISTANT else told)
    watched.messages = found
    watched.add("conversation.updated", {"conversation": conversation.as_document()})
