"""Rules that make messages of payloads."""
