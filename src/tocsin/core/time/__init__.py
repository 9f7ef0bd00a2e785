"""Clocks and rate limits."""
