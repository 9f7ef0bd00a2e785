"""Rules that run something when a message matches."""
