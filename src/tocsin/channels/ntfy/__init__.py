"""ntfy: pushes to topics of ntfy.sh or of a server of your own. Source: docs/facts/ntfy.md."""

from tocsin.channels.ntfy.adapter import NtfyAdapter

__all__ = ["NtfyAdapter"]
