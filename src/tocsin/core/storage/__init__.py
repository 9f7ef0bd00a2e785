"""What is kept: SQLite, files, Redis."""
