"""The front door: a listener for the protocols of other tools, whose routes come from features."""
