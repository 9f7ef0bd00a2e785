"""matrix: messages to rooms that are not encrypted, by the client-server API. Source: docs/facts/matrix.md."""

from tocsin.channels.matrix.adapter import MatrixAdapter

__all__ = ["MatrixAdapter"]
