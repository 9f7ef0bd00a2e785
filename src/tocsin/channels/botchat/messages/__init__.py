"""Parse updates of the Bot API."""
