"""Notices for the operator: kept, deduplicated, forwarded, and read as a feed."""
