"""The tables of assistant skills. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE assistant_results (
        run_id TEXT PRIMARY KEY,
        skill TEXT NOT NULL,
        folder TEXT NOT NULL,
        findings TEXT NOT NULL,
        patch TEXT NOT NULL,
        created_at REAL NOT NULL,
        applied_at REAL
    ) WITHOUT ROWID;
    CREATE INDEX assistant_results_age ON assistant_results (created_at);
    """,
    """
    CREATE TABLE assistant_versions (
        skill TEXT NOT NULL,
        folder TEXT NOT NULL,
        path TEXT NOT NULL,
        version TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (skill, folder, path, version)
    ) WITHOUT ROWID;
    CREATE INDEX assistant_versions_age ON assistant_versions (at);
    """,
    """
    CREATE TABLE assistant_calls (
        run_id TEXT PRIMARY KEY,
        at REAL NOT NULL,
        questions INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE assistant_results ADD COLUMN changes TEXT NOT NULL DEFAULT '[]';
    """,
)
