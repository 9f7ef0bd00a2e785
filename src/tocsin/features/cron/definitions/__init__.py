"""Definitions of jobs: as people give them, in files, and what they would do."""
