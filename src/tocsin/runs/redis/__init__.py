"""Runs in Redis, shared by any number of hosts."""
