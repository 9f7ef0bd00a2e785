"""guildchat: Discord, by REST v10 and interactions. Source: docs/facts/guildchat.md."""

from tocsin.channels.guildchat.adapter import GuildchatAdapter

__all__ = ["GuildchatAdapter"]
