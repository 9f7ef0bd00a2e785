"""SSH: hosts, commands on many of them, their health, and their host keys."""
