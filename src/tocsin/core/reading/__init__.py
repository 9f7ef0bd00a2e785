"""Strict parsing of YAML, JSON and untrusted fields, with positions and suggestions."""
