"""Runs in the SQLite database of a data directory."""
