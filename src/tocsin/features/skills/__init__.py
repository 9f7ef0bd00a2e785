"""Runnable skills: programs with a manifest."""
