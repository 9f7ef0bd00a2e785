"""Heartbeats: jobs that run elsewhere report by one request, and a missing report becomes one message."""
