"""Skills: what they are, and running those that are programs (spec 2.7, 5.8)."""
