"""Storage: SQLite, files, Redis."""
