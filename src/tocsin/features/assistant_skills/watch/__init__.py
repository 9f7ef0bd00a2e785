"""Run assistant skills when files in watched folders change."""
