"""`tocsin doctor`: checks with cause and fix."""
