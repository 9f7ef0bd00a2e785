"""The table of what was last seen of each host. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE ssh_probes (
        host TEXT PRIMARY KEY,
        status TEXT NOT NULL,
        failures INTEGER NOT NULL,
        checked_at REAL NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    """,
)
