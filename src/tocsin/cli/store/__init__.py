"""store: move records to the other store."""
