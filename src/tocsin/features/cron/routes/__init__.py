"""The operations on cron jobs."""

from tocsin.features.cron.routes.operations import cron_operations
from tocsin.features.cron.service import CronJobs
from tocsin.features.hooks import OperationsOf

OPERATIONS: OperationsOf[CronJobs] = cron_operations
