"""The bot's own records: the mode of each chat, and the preview of each message in progress."""

from collections.abc import Mapping

from tocsin.bot.contract import ChatMode
from tocsin.bot.storage.keyed_table import OpenTable, put

PREVIEWS_KEPT_S = 7 * 86400.0  # of messages whose work never ended; their answers were sent long before


class BotPersistence:
    """Persistent state of the bot, shared by all processes."""

    def __init__(self, open_table: OpenTable) -> None:
        self._modes = open_table("modes", 0)
        self._previews = open_table("previews", PREVIEWS_KEPT_S)

    async def mode(self, chat_id: str) -> ChatMode:
        return parse_mode(await self._modes.get(chat_id))

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        await put(self._modes, chat_id, str(mode))

    async def modes(self) -> Mapping[str, ChatMode]:
        return {chat_id: parse_mode(mode) for chat_id, mode in (await self._modes.all()).items()}

    async def preview(self, received_id: str) -> str | None:
        """Return the preview that an earlier attempt left in the chat."""
        return await self._previews.get(received_id)

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        """Store `message_id` as the preview of the answer to `received_id`."""
        await put(self._previews, received_id, message_id)

    async def forget_preview(self, received_id: str) -> None:
        """Delete the stored preview: the answer has replaced it."""
        await put(self._previews, received_id, None)

    async def previews(self) -> Mapping[str, str]:
        """Return all stored previews by the ID of their event."""
        return await self._previews.all()


def parse_mode(stored: object) -> ChatMode:
    """Parse a stored mode; an unknown mode of another version counts as unset."""
    return ChatMode(str(stored)) if stored in set(ChatMode) else ChatMode.CHAT
