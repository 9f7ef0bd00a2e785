"""The tables of task jobs. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    """
    CREATE TABLE task_jobs (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        status TEXT NOT NULL,
        priority TEXT NOT NULL,
        labels TEXT NOT NULL,
        command TEXT NOT NULL,
        skill TEXT NOT NULL,
        repo TEXT,
        base_branch TEXT,
        base_sha TEXT,
        branch TEXT,
        worktree_path TEXT,
        head_sha TEXT,
        ahead INTEGER,
        behind INTEGER,
        diffstat TEXT,
        progress REAL,
        run_id TEXT,
        result TEXT,
        error TEXT,
        created_at REAL NOT NULL,
        started_at REAL,
        completed_at REAL,
        updated_at REAL NOT NULL,
        created_by TEXT,
        version INTEGER NOT NULL,
        phase TEXT NOT NULL,
        phase_owner TEXT NOT NULL,
        phase_at REAL NOT NULL,
        delete_branch INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX task_jobs_by_branch ON task_jobs (repo, branch) WHERE branch IS NOT NULL;
    CREATE INDEX task_jobs_by_status ON task_jobs (status);
    CREATE INDEX task_jobs_by_run ON task_jobs (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX task_jobs_unfinished ON task_jobs (phase) WHERE phase <> 'ready';
    CREATE TABLE task_job_changes (
        change INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id TEXT NOT NULL,
        event TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT;
    """,
    # The feed of changes took its place.
    "DROP TABLE task_job_changes;",
    """
    INSERT OR IGNORE INTO run_tasks (run_id)
        SELECT run_id FROM task_jobs WHERE status = 'running' AND run_id IS NOT NULL
    """,
)
