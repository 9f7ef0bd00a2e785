"""The operations on cron jobs."""

from tocsin.features.cron.routes.operations import cron_operations

__all__ = ["cron_operations"]
