"""The tables of cron jobs. A released migration is never edited; a new one is added."""

from tocsin.core.storage.changes import recorded, recorded_where

MIGRATIONS = (
    # `cursor` is the instant up to which everything is decided, `next_at` when the scheduler has to look again.
    # `cron_unsettled` names runs of which something is still to be done: to begin, or after their end.
    """
    CREATE TABLE cron_jobs (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,
        file TEXT NOT NULL DEFAULT '',
        definition TEXT,
        problem TEXT NOT NULL DEFAULT '',
        enabled INTEGER NOT NULL,
        auto_disabled INTEGER NOT NULL DEFAULT 0,
        paused_until REAL,
        paused_reason TEXT NOT NULL DEFAULT '',
        failures_since REAL NOT NULL,
        anchor REAL NOT NULL,
        cursor REAL NOT NULL,
        next_at REAL,
        version INTEGER NOT NULL DEFAULT 1,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        created_by TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX cron_jobs_next ON cron_jobs (next_at) WHERE next_at IS NOT NULL;
    CREATE INDEX cron_jobs_cursor ON cron_jobs (cursor);
    CREATE TABLE cron_unsettled (
        run_id TEXT PRIMARY KEY,
        not_before REAL
    ) WITHOUT ROWID;
    CREATE TABLE cron_troubles (
        name TEXT PRIMARY KEY,
        detail TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    recorded("cron_jobs", "cron"),
    # Since when a job fails; without a row it works.
    """
    CREATE TABLE cron_failing (
        job_id TEXT PRIMARY KEY,
        since REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # What the audit entry of a run says of the request for it: another process may write that.
    "ALTER TABLE cron_unsettled ADD COLUMN caller TEXT NOT NULL DEFAULT '{}'",
    # The boot of the machine after whose start a job with the schedule `at start` was last looked at.
    "ALTER TABLE cron_jobs ADD COLUMN boot TEXT NOT NULL DEFAULT ''",
    # What a job shows of its runs, such as how many failed in a row, changes when one of them ends.
    recorded_where(
        "new.kind = 'cron' AND new.finished_at IS NOT NULL", "runs", "cron", key="subject_id", columns=["finished_at"]
    ),
    # The table of runs has them now.
    """
    INSERT OR IGNORE INTO run_tasks (run_id, caller, not_before) SELECT run_id, caller, not_before FROM cron_unsettled;
    DROP TABLE cron_unsettled;
    """,
    # When the last successful run of a job ended, which outlives that run.
    """
    CREATE TABLE cron_successes (
        job_id TEXT PRIMARY KEY,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO cron_successes
        SELECT subject_id, MAX(finished_at) FROM runs JOIN cron_jobs ON cron_jobs.id = subject_id
        WHERE kind = 'cron' AND status = 'succeeded' GROUP BY subject_id;
    """,
)
