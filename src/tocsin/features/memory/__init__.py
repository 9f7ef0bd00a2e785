"""memory: stored notes by key, which fade over time."""
