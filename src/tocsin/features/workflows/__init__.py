"""Workflows: steps in a YAML file, run in order or as a graph, each run one record."""
