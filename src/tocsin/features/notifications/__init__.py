"""Notices for the operator: stored, deduplicated, forwarded, and available as a feed."""
