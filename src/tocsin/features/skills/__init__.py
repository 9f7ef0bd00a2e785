"""Skills: what they are, and running those that are programs."""
