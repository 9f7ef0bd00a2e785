"""Runs in Redis: for any number of hosts."""
