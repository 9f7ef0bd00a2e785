"""The operations on skills."""

from tocsin.features.hooks import OperationsOf
from tocsin.features.skills.routes.operations import skill_operations
from tocsin.features.skills.service import Skills

OPERATIONS: OperationsOf[Skills] = skill_operations
