"""Runs: one record, with start, end and outcome, of everything that is executed."""
