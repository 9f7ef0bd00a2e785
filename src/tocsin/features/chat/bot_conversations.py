"""The conversations of the bot, as far as this process can see them; they can only be read."""

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.features.abilities import BotWindow, ListBotWindows
from tocsin.features.chat.model import (
    ASSISTANT,
    USER,
    ChatConversation,
    ChatMessage,
    ConversationBusyError,
    unknown_conversation,
)
from tocsin.features.chat.store import Transcript

PREFIX = "bot:"  # of the IDs of these conversations


class BotConversations(NamedTuple):
    """Conversations of the bot, and why there may be others."""

    items: Sequence[ChatConversation]
    notice: str


async def bot_conversations(chats: ListBotWindows, text: str = "") -> BotConversations:
    """Return the conversations in which a text stands."""
    found = await chats()
    wanted = text.lower()
    items = [_conversation(chat) for chat in found.chats if any(wanted in said.lower() for _, said in chat.turns)]
    return BotConversations(items, found.notice)


async def bot_transcript(chats: ListBotWindows, conversation_id: str) -> Transcript:
    """Return one of the conversations; raises UnknownConversationError."""
    for chat in (await chats()).chats:
        if conversation_id == f"{PREFIX}{chat.id}":
            messages = [
                ChatMessage(
                    f"{conversation_id}:{number}", conversation_id, ASSISTANT if role == ASSISTANT else USER, said
                )
                for number, (role, said) in enumerate(chat.turns, start=1)
            ]
            return Transcript(_conversation(chat), messages)
    raise unknown_conversation(conversation_id)


def refuse_bot(conversation_id: str) -> None:
    """Raise ConversationBusyError for a conversation of the bot: it goes on where it was begun."""
    if conversation_id.startswith(PREFIX):
        raise ConversationBusyError(
            "a conversation of the bot can only be read here", hint="write in the chat itself; /reset there begins anew"
        )


def _conversation(chat: BotWindow) -> ChatConversation:
    role, text = chat.turns[-1]
    return ChatConversation(
        f"{PREFIX}{chat.id}",
        chat.title or f"Chat {chat.id}",
        source=chat.channel,
        message_count=len(chat.turns),
        last_role=role,
        last_text=text,
    )
