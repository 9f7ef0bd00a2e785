"""The delivery queue in Redis."""
