"""What the bot itself keeps: each chat's mode, and which preview belongs to which message."""

from collections.abc import Mapping
from typing import Protocol

from tocsin.bot.contract import ChatMode

PREVIEWS_KEPT_S = 7 * 86400.0  # of messages whose work never ended; an answer is long out by then


class BotPersistence(Protocol):
    """Survives a restart, and is the same for every process."""

    async def mode(self, chat_id: str) -> ChatMode:
        """Return the chat's mode."""
        ...

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        """Keep the chat's mode."""
        ...

    async def modes(self) -> Mapping[str, ChatMode]:
        """Return the mode of every chat that has set one."""
        ...

    async def preview(self, received_id: str) -> str | None:
        """Return the preview that an earlier attempt has left in the chat."""
        ...

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        """Keep that `message_id` is the preview of the answer to `received_id`."""
        ...

    async def forget_preview(self, received_id: str) -> None:
        """Forget the preview: the answer has taken its place."""
        ...

    async def previews(self) -> Mapping[str, str]:
        """Return every preview that was not forgotten, by the event that it belongs to."""
        ...


def mode_of(stored: object) -> ChatMode:
    """Return the mode that is stored; one that another version knew counts as none."""
    return ChatMode(str(stored)) if stored in set(ChatMode) else ChatMode.CHAT
