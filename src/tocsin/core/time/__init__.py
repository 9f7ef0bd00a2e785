"""Clocks and rates."""
