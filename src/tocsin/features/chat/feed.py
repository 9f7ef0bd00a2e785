"""The events of one conversation, for its open pages."""

import json

from tocsin.features.chat.bot_conversations import PREFIX, BotConversationEvents
from tocsin.features.chat.model import USER, UnknownConversationError
from tocsin.features.chat.service import Chats
from tocsin.rest.event_stream import FeedPage, encode_event


def feed_for(chats: Chats, conversation_id: str) -> "ConversationFeed | BotConversationFeed":
    """Return the events of a conversation of the dashboard or the bot."""
    if conversation_id.startswith(PREFIX):
        return BotConversationFeed(chats.bot_events, conversation_id)
    return ConversationFeed(chats, conversation_id)


class ConversationFeed:
    """The numbered events of a conversation."""

    def __init__(self, chats: Chats, conversation_id: str) -> None:
        self.key = conversation_id
        self._chats = chats

    async def end(self) -> int:
        return (await self._chats.transcript(self.key, limit=1)).conversation.seq

    async def beginning(self) -> str:
        """Return the event from which a client without events starts: the one before the last question.

        A client that opens the stream after sending then misses nothing, however soon the answer came. Empty if these
        events were pruned: the client starts with new events.
        """
        number = await self._chats.store.before_question(self.key)
        return "" if number is None else f"{self.key}:{number}"

    async def after(self, number: int) -> FeedPage:
        """Return the events after a number; for a deleted conversation, its end."""
        await self._chats.settle()
        found = await self._chats.store.events(self.key, number)
        if found.end is None:
            return FeedPage((), number, is_over=True)
        events = [
            (seq, encode_event(event, json.loads(data), f"{self.key}:{seq}")) for seq, event, data in found.events
        ]
        return FeedPage(events, found.end, found.complete)


class BotConversationFeed:
    """The numbered events of one conversation of the bot."""

    def __init__(self, events: BotConversationEvents, conversation_id: str) -> None:
        self.key = conversation_id
        self._events = events

    async def end(self) -> int:
        return (await self._events.look(self.key)).number

    async def beginning(self) -> str:
        """Return the event before the last question that was read; empty if there is none."""
        watched = await self._events.look(self.key)
        asked = [
            number
            for number, event, data in watched.events
            if event == "message.created" and data["message"]["role"] == USER
        ]
        return f"{self.key}:{asked[-1] - 1}" if asked else ""

    async def after(self, number: int) -> FeedPage:
        """Return the events after a number; for a conversation that has ended, its end."""
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
