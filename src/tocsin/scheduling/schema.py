"""The table of leases. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        token INTEGER NOT NULL,
        beat INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
