"""Doors: addresses at which other tools report, in their own protocols."""
