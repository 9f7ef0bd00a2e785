"""Watching the heartbeats, and reporting Tocsin's own to a monitor elsewhere."""
