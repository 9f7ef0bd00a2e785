"""Storage of the bot's records: the database of this host, or a Redis shared by several hosts."""
