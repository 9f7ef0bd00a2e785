"""The composition of the program: the only package that creates and connects its parts."""
