"""guildchat: Discord, by REST v10 and interactions. Source: channel fact book, section 3."""

from tocsin.channels.guildchat.adapter import GuildchatAdapter

__all__ = ["GuildchatAdapter"]
