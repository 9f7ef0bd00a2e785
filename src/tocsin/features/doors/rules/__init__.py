"""What becomes a message of a payload, and which message."""
