"""Watchers: rules that act when files in a folder change."""
