"""A package, for its tests share a browser."""
