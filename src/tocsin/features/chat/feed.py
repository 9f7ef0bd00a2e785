"""The events of one conversation, for whoever has it open."""

import json

from tocsin.features.chat.bot_conversations import PREFIX
from tocsin.features.chat.bot_events import BotConversationFeed
from tocsin.features.chat.service import Chats
from tocsin.rest.event_stream import FeedPage, encode_event


def feed_of(chats: Chats, conversation_id: str) -> "ConversationFeed | BotConversationFeed":
    """Return the events of a conversation, of the dashboard or of the bot."""
    if conversation_id.startswith(PREFIX):
        return BotConversationFeed(chats.bot_events, conversation_id)
    return ConversationFeed(chats, conversation_id)


class ConversationFeed:
    """The numbered events of a conversation."""

    def __init__(self, chats: Chats, conversation_id: str) -> None:
        self.key = conversation_id
        self._chats = chats

    async def end(self) -> int:
        """Return the number of the last event; raises UnknownConversationError."""
        return (await self._chats.transcript(self.key, limit=1)).conversation.seq

    async def beginning(self) -> str:
        """Return the event after which a reader begins who saw none: the one before the last question.

        Who opens the stream after sending misses nothing then, however soon the answer came. Empty where these events
        are not kept any more: the reader begins with what is to come.
        """
        number = await self._chats.store.before_question(self.key)
        return "" if number is None else f"{self.key}:{number}"

    async def after(self, number: int) -> FeedPage:
        """Return the events after one; of a conversation that was deleted, that it is over."""
        await self._chats.settle()
        found = await self._chats.store.events(self.key, number)
        if found.end is None:
            return FeedPage((), number, is_over=True)
        events = [
            (seq, encode_event(event, json.loads(data), f"{self.key}:{seq}")) for seq, event, data in found.events
        ]
        return FeedPage(events, found.end, found.complete)
