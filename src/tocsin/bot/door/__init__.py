"""Access control of the bot."""
