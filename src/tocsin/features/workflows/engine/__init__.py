"""Carries out the steps of a workflow."""
