"""What the front door has of heartbeats: pings as they arrive, and badges."""
