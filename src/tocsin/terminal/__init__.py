"""The terminal: how arguments are read, and how results are printed."""
