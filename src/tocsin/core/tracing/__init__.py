"""Traces of messages and runs."""
