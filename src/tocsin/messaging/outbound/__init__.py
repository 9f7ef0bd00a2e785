"""Everything that leaves: messenger, outbox, profiles, idempotency."""
