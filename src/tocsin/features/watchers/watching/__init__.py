"""Folders that are watched, and what their changes start."""
