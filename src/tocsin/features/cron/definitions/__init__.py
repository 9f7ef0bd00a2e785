"""Definitions of jobs: parse, validate and preview them."""
