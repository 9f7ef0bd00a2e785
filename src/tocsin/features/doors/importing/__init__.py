"""Profiles and doors made of the configuration of other tools."""
