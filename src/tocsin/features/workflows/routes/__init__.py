"""The operations on workflows."""

from tocsin.features.workflows.routes.operations import workflow_operations

__all__ = ["workflow_operations"]
