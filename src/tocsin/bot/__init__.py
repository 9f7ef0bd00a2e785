"""The bot: polling, access, commands and conversation (spec 3, 4.4, 5.5, 5.6)."""
