"""Where the bot keeps its records: the database of this host, or a Redis that several hosts share."""
