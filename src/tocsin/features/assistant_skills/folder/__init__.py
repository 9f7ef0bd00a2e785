"""The folder that a run may see, and what it may do there."""
