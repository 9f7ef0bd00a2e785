"""store: move all data to the other store."""
