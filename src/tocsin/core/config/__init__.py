"""Settings: the variables there are, their values and sources."""
