"""What skills do without a model: they look at files by fixed rules."""
