"""Receiving: inbox, lanes and handlers."""
