"""Watch folders, and start runs when files change."""
