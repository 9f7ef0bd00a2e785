"""The dashboard: its REST API on port 8200, and the pages that use it."""
