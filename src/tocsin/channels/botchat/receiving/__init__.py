"""Fetch updates by long polling or webhook, and monitor how well that works."""
