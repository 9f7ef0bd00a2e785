"""botchat: Telegram, by the Bot API. Source: docs/facts/botchat.md."""

from tocsin.channels.botchat.adapter import BotchatAdapter

__all__ = ["BotchatAdapter"]
