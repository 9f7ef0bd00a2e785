"""botchat: Telegram, by the Bot API. Source: channel fact book, section 2."""

from tocsin.channels.botchat.adapter import BotchatAdapter

__all__ = ["BotchatAdapter"]
