"""Skills without a model: they check files by fixed rules."""
