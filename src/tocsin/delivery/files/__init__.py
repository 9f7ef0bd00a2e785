"""The contents of files that messages have: taken from callers, stored by their hash, read when they are sent."""
