"""Checks that folders of backups get new files.

An example of a feature with a page of the dashboard, operations, a kind of run and a subsystem.
"""
