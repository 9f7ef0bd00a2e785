"""The operations on task jobs."""

from tocsin.features.jobs.routes.operations import job_operations

__all__ = ["job_operations"]
