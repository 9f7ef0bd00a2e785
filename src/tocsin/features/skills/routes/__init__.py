"""The operations on skills."""

from tocsin.features.skills.routes.operations import skill_operations

__all__ = ["skill_operations"]
