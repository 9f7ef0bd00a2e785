"""`tocsin doctor`: checks, each with cause and fix."""
