"""The durable queue: an accepted message ends as sent, dead, uncertain, cancelled or expired, never lost."""
