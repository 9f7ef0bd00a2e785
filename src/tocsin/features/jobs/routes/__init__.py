"""The operations on task jobs."""

from tocsin.features.hooks import OperationsOf
from tocsin.features.jobs.routes.operations import job_operations
from tocsin.features.jobs.service import TaskJobs

OPERATIONS: OperationsOf[TaskJobs] = job_operations
