"""The bot: polling, access, commands and conversation."""
