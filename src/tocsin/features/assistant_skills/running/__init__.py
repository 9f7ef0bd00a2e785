"""Runs of assistant skills, and what is kept to run one again."""
