"""Cron jobs: definitions, the scheduler, and the output of runs."""
