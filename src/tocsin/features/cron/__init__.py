"""Jobs that run at times: definitions, the scheduler, and what is told about the runs."""
