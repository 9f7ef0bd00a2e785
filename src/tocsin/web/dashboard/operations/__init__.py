"""The operations of the dashboard that belong to no feature."""
