"""Skill mode: a message is turned into a plan of skills."""
