"""Skill mode: a message becomes a plan of skills."""
