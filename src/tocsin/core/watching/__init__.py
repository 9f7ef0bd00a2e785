"""Watching folders: ignored files, changes, and commits."""
