"""What watches: over the heartbeats of others, and over Tocsin itself from elsewhere."""
