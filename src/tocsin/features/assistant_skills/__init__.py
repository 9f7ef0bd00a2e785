"""Assistant skills: instructions for a model that acts on files, and what acts without one."""
