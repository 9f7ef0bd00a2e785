"""How updates of the Bot API are read."""
