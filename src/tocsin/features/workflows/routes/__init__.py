"""The operations on workflows."""

from tocsin.features.hooks import OperationsOf
from tocsin.features.workflows.routes.operations import workflow_operations
from tocsin.features.workflows.service import Workflows

OPERATIONS: OperationsOf[Workflows] = workflow_operations
