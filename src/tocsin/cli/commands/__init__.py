"""The commands of messaging, the queue, runs and services, one module per group."""
