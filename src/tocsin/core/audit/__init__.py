"""The audit log: a hash chain of JSON lines."""
