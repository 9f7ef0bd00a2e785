"""Attachments: what the files of a message say."""
