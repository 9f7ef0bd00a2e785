"""Watching folders, and having skills act on what changes."""
