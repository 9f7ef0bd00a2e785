"""The inbox in Redis: for any number of hosts."""
