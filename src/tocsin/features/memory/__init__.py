"""memory: what Tocsin was told to keep, by key, with forgetting."""
