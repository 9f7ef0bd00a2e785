"""Runs in the database of a data directory."""
