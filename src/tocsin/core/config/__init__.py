"""Settings: the known variables, their values and sources."""
