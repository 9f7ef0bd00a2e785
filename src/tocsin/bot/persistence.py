"""What the bot itself keeps: each chat's mode, and which preview belongs to which message."""

from collections.abc import Mapping

from tocsin.bot.contract import ChatMode
from tocsin.bot.storage.keyed_table import OpenTable, put

PREVIEWS_KEPT_S = 7 * 86400.0  # of messages whose work never ended; an answer is long out by then


class BotPersistence:
    """Survives a restart, and is the same for every process."""

    def __init__(self, open_table: OpenTable) -> None:
        self._modes = open_table("modes", 0)
        self._previews = open_table("previews", PREVIEWS_KEPT_S)

    async def mode(self, chat_id: str) -> ChatMode:
        """Return the chat's mode."""
        return mode_of(await self._modes.get(chat_id))

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        """Keep the chat's mode."""
        await put(self._modes, chat_id, str(mode))

    async def modes(self) -> Mapping[str, ChatMode]:
        """Return the mode of every chat that has set one."""
        return {chat_id: mode_of(mode) for chat_id, mode in (await self._modes.all()).items()}

    async def preview(self, received_id: str) -> str | None:
        """Return the preview that an earlier attempt has left in the chat."""
        return await self._previews.get(received_id)

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        """Keep that `message_id` is the preview of the answer to `received_id`."""
        await put(self._previews, received_id, message_id)

    async def forget_preview(self, received_id: str) -> None:
        """Forget the preview: the answer has taken its place."""
        await put(self._previews, received_id, None)

    async def previews(self) -> Mapping[str, str]:
        """Return every preview that was not forgotten, by the event that it belongs to."""
        return await self._previews.all()


def mode_of(stored: object) -> ChatMode:
    """Return the mode that is stored; one that another version knew counts as none."""
    return ChatMode(str(stored)) if stored in set(ChatMode) else ChatMode.CHAT
