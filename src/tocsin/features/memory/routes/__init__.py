"""The operations on memory."""

from tocsin.features.hooks import OperationsOf
from tocsin.features.memory.routes.operations import memory_operations
from tocsin.features.memory.service import Memories

OPERATIONS: OperationsOf[Memories] = memory_operations
