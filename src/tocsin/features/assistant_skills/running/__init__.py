"""Run assistant skills, and retry their runs."""
