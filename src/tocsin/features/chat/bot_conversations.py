"""The bot's conversations that this process can see, read-only.

The bot stores no events, only the window that it sends to the model. So this process compares each window with the
previous one, and numbers the differences. The first number is the clock in milliseconds: a client that reconnects
with the number of another process must read the conversation again.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

from tocsin.core.records.as_json import to_json
from tocsin.core.time.clock import Clock
from tocsin.features.abilities import BotView
from tocsin.features.ability_records import BotWindow
from tocsin.features.chat.model import (
    ASSISTANT,
    USER,
    ChatConversation,
    ChatMessage,
    ConversationBusyError,
    unknown_conversation,
)
from tocsin.features.chat.store import Transcript

PREFIX = "bot:"  # prefix of the IDs of these conversations
# A question and its answer appear together, when the answer is sent: it is not streamed here.
LOOK_EVERY_S = 1.0
MAX_EVENTS = 200
MAX_WATCHED = 1_000


class BotConversations(NamedTuple):
    """Conversations of the bot, and why the list may be incomplete."""

    items: Sequence[ChatConversation]
    notice: str


async def bot_conversations(chats: BotView, text: str = "") -> BotConversations:
    found = await chats.windows()
    wanted = text.lower()
    items = [to_conversation(chat) for chat in found.chats if any(wanted in said.lower() for _, said in chat.turns)]
    return BotConversations(items, found.notice)


def to_messages(chat: BotWindow) -> list[ChatMessage]:
    """Return the messages of a window; their IDs stay the same while the window moves."""
    conversation_id, seen, messages = f"{PREFIX}{chat.id}", Counter[str](), []
    for role, text in chat.turns:
        known_by = sha256(f"{role}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]
        seen[known_by] += 1
        id_ = f"{conversation_id}:{known_by}" + (f"-{seen[known_by]}" if seen[known_by] > 1 else "")
        messages.append(ChatMessage(id_, conversation_id, ASSISTANT if role == ASSISTANT else USER, text))
    return messages


def refuse_bot(conversation_id: str) -> None:
    """Raise ConversationBusyError for a conversation of the bot: it continues in its own chat."""
    if conversation_id.startswith(PREFIX):
        raise ConversationBusyError(
            "conversations of the bot are read-only here",
            hint="send the message in the chat itself; /reset there starts a new conversation",
        )


def to_conversation(chat: BotWindow) -> ChatConversation:
    role, text = chat.turns[-1]
    return ChatConversation(
        f"{PREFIX}{chat.id}",
        chat.title or f"Chat {chat.id}",
        source=chat.channel,
        message_count=len(chat.turns),
        last_role=ASSISTANT if role == ASSISTANT else USER,
        last_text=text,
    )


@dataclass(slots=True)
class WatchedConversation:
    """One conversation as this process read it last."""

    conversation: ChatConversation
    messages: Sequence[ChatMessage]
    number: int  # of its last event
    looked_at: float  # monotonic
    events: deque[tuple[int, str, dict[str, Any]]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    is_over: bool = False

    def add(self, event: str, data: dict[str, Any]) -> None:
        self.number += 1
        self.events.append((self.number, event, data))

    def tell(self, event: str, message: ChatMessage) -> ChatMessage:
        """Add an event with a message, and return the message with the number of the event."""
        numbered = replace(message, seq=self.number + 1)
        self.add(event, {"message": to_json(numbered)})
        return numbered


class BotConversationEvents:
    """Reads the windows of the bot, and stores the changes of each."""

    def __init__(self, chats: BotView, clock: Clock) -> None:
        self._chats = chats
        self._clock = clock
        self._watched: OrderedDict[str, WatchedConversation] = (
            OrderedDict()
        )  # ordered by the time of the last read, the oldest first

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
        """Read the current state of a conversation; raises UnknownConversationError if it does not exist any more."""
        found = await self._chats.windows(conversation_id.removeprefix(PREFIX))
        now = self._clock.monotonic()
        watched = self._watched.get(conversation_id)
        if found.chats:
            watched = self._compare(conversation_id, found.chats[0])
        elif watched is not None and not found.notice:  # otherwise it is temporarily unavailable
            watched.is_over = True
            del self._watched[conversation_id]
        if watched is None or watched.is_over:
            raise unknown_conversation(conversation_id)
        watched.looked_at = now
        return watched

    def known(self, conversation_id: str) -> WatchedConversation | None:
        """Return a conversation if it was read a moment ago."""
        watched = self._watched.get(conversation_id)
        recent = watched is not None and self._clock.monotonic() - watched.looked_at < LOOK_EVERY_S
        return watched if recent else None

    def _compare(self, conversation_id: str, chat: BotWindow) -> WatchedConversation:
        """Return a conversation with the events that lead to its current state."""
        conversation, messages = to_conversation(chat), to_messages(chat)
        watched = self._watched.get(conversation_id)
        if watched is None:
            number = int(self._clock.now() * 1000)
            found = [replace(message, seq=number) for message in messages]
            watched = self._watched[conversation_id] = WatchedConversation(conversation, found, number, 0.0)
        else:
            _append_new(watched, conversation, messages)
        self._watched.move_to_end(conversation_id)
        while len(self._watched) > MAX_WATCHED:
            self._watched.popitem(last=False)
        return watched


def _append_new(watched: WatchedConversation, conversation: ChatConversation, messages: Sequence[ChatMessage]) -> None:
    """Append the new messages of a conversation; if it changed in any other way, readers must read it again."""
    before, now = [message.id for message in watched.messages], [message.id for message in messages]
    if before == now:
        return
    shared = next((length for length in range(len(before), 0, -1) if before[-length:] == now[:length]), 0)
    watched.conversation = conversation
    if not shared:
        watched.add("resync", {})
        watched.messages = [replace(message, seq=watched.number) for message in messages]
        return
    found = [*watched.messages[-shared:]]
    for message in messages[shared:]:
        told = watched.tell("message.created", message)
        found.append(watched.tell("message.completed", told) if message.role == ASSISTANT else told)
    watched.messages = found
    watched.add("conversation.updated", {"conversation": to_json(conversation)})
