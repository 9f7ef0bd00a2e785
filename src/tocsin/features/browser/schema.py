"""The table of browsers that were started. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE browser_processes (
        profile TEXT PRIMARY KEY,
        user_data_dir TEXT NOT NULL,
        pid INTEGER NOT NULL,
        identity TEXT NOT NULL,
        port INTEGER,
        started_at REAL NOT NULL,
        ended_at REAL,
        problem TEXT NOT NULL
    ) STRICT;
    """,
)
