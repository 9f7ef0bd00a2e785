"""The stand-in of the Telegram Bot API."""
