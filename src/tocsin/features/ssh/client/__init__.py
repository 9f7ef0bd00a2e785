"""The system's `ssh`: its configuration, how it ended, and host keys."""
