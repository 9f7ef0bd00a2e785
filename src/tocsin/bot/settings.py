"""The bot's settings in one frozen record."""

from dataclasses import dataclass

from tocsin.channels.botchat import settings as names
from tocsin.channels.botchat.settings import chat_id as read_chat_id
from tocsin.core.config.settings import Values

__all__ = ["BotSettings", "read_chat_id"]


@dataclass(frozen=True, slots=True)
class BotSettings:
    """Who may talk to the bot, and how much it does at the same time."""

    allowed: frozenset[str] = frozenset()
    admin: str = ""  # a chat ID; empty: nobody is asked
    notices: str = ""  # a chat ID: where the bot's own notifications go; empty: nowhere
    per_chat: int = names.MAX_PER_CHAT.default
    overall: int = names.MAX_GLOBAL.default
    overflow: int = names.QUEUE_OVERFLOW.default
    max_history: int = names.MAX_HISTORY.default
    streaming: bool = True

    @classmethod
    def of(cls, values: Values) -> "BotSettings":
        """Read them from the channel's settings."""
        return cls(
            allowed=values[names.ALLOWED_CHAT_IDS],
            admin=values[names.ADMIN_CHAT_ID],
            notices=values[names.ADMIN_CHAT_ID] or values[names.DEFAULT_CHAT_ID],
            per_chat=values[names.MAX_PER_CHAT],
            overall=values[names.MAX_GLOBAL],
            overflow=values[names.QUEUE_OVERFLOW],
            max_history=values[names.MAX_HISTORY],
            streaming=values[names.STREAMING],
        )
