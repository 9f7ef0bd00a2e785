"""Pings and badges at the front door."""
