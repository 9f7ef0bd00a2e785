"""Rules that run something when a message matches (spec 2.5)."""
