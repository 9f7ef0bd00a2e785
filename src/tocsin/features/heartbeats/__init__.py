"""Heartbeats: jobs that run elsewhere report by one request, and silence becomes one message."""
