"""The conversations of the bot, as far as this process can see them; they can only be read."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from tocsin.features.abilities import BotWindow, ListBotWindows
from tocsin.features.chat.model import (
    ASSISTANT,
    USER,
    ChatConversation,
    ChatMessage,
    ConversationBusyError,
)

PREFIX = "bot:"  # of the IDs of these conversations


class BotConversations(NamedTuple):
    """Conversations of the bot, and why there may be others."""

    items: Sequence[ChatConversation]
    notice: str


async def bot_conversations(chats: ListBotWindows, text: str = "") -> BotConversations:
    """Return the conversations in which a text stands."""
    found = await chats()
    wanted = text.lower()
    items = [conversation_of(chat) for chat in found.chats if any(wanted in said.lower() for _, said in chat.turns)]
    return BotConversations(items, found.notice)


def messages_of(chat: BotWindow) -> list[ChatMessage]:
    """Return the messages of a window; their IDs stay the same while the window moves on."""
    conversation_id, seen, messages = f"{PREFIX}{chat.id}", Counter[str](), []
    for role, text in chat.turns:
        known_by = sha256(f"{role}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]
        seen[known_by] += 1
        id_ = f"{conversation_id}:{known_by}" + (f"-{seen[known_by]}" if seen[known_by] > 1 else "")
        messages.append(ChatMessage(id_, conversation_id, ASSISTANT if role == ASSISTANT else USER, text))
    return messages


def refuse_bot(conversation_id: str) -> None:
    """Raise ConversationBusyError for a conversation of the bot: it goes on where it was begun."""
    if conversation_id.startswith(PREFIX):
        raise ConversationBusyError(
            "a conversation of the bot can only be read here", hint="write in the chat itself; /reset there begins anew"
        )


def conversation_of(chat: BotWindow) -> ChatConversation:
    """Return what lists show of a window."""
    role, text = chat.turns[-1]
    return ChatConversation(
        f"{PREFIX}{chat.id}",
        chat.title or f"Chat {chat.id}",
        source=chat.channel,
        message_count=len(chat.turns),
        last_role=role,
        last_text=text,
    )
