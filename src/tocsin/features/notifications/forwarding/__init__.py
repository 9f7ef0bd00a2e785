"""Forwarding of notices to the operator, and the buttons of the forwarded messages."""
