"""The stand-in of the Discord API."""
