"""Watching folders: which files count, what changed in them, and what was committed."""
