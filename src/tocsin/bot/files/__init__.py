"""Attachments of messages."""
