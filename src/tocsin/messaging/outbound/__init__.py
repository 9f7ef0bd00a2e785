"""Sending: messenger, outbox, profiles, idempotency."""
