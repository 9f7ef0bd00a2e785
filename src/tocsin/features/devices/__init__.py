"""Browsers and phones that take notifications."""
