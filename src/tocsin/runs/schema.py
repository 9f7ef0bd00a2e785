"""The table of runs. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        subject_name TEXT NOT NULL,
        triggered_by TEXT NOT NULL,
        status TEXT NOT NULL,
        queued_at REAL NOT NULL,
        actor TEXT,
        reason TEXT,
        attempt INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        retry_of TEXT,
        parent_run_id TEXT,
        scheduled_for REAL,
        started_at REAL,
        finished_at REAL,
        exit_code INTEGER,
        signal TEXT,
        dry_run INTEGER NOT NULL,
        params TEXT NOT NULL,
        env_keys TEXT NOT NULL,
        output_bytes INTEGER NOT NULL DEFAULT 0,
        output_lines INTEGER NOT NULL DEFAULT 0,
        output_truncated INTEGER NOT NULL DEFAULT 0,
        output_tail TEXT NOT NULL DEFAULT '',
        error TEXT,
        owner TEXT NOT NULL,
        child TEXT NOT NULL DEFAULT '',
        cancel_reason TEXT NOT NULL DEFAULT '',
        cancel_grace_s REAL NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX runs_subject ON runs (kind, subject_id, id);
    CREATE INDEX runs_status ON runs (status, id);
    """,
)
