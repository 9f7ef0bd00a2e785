"""store: move everything into the other store."""
