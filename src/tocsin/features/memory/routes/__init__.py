"""The operations on memory."""

from tocsin.features.memory.routes.operations import memory_operations

__all__ = ["memory_operations"]
