"""The delivery queue in SQLite."""
