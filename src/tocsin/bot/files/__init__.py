"""Attachments: what files of strangers say, read in child processes."""
