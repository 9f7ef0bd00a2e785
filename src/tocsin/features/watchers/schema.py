"""The tables of watchers. A released migration is never edited; a new one is added."""

MIGRATIONS = (
    # `due_at` is when a change is acted on; NULL: that is decided, with a run or with a note that says why not.
    # `watcher_unsettled` names runs whose end was not seen to. States are those that the watching process sees.
    """
    CREATE TABLE watcher_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        rule TEXT NOT NULL,
        at REAL NOT NULL,
        changed_at REAL NOT NULL,
        due_at REAL,
        type TEXT NOT NULL,
        path BLOB NOT NULL,
        old_path BLOB,
        run_id TEXT,
        note TEXT NOT NULL DEFAULT ''
    );
    CREATE UNIQUE INDEX watcher_events_waiting ON watcher_events (rule, path) WHERE due_at IS NOT NULL;
    CREATE INDEX watcher_events_due ON watcher_events (rule, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX watcher_events_recent ON watcher_events (rule, id);
    CREATE TABLE watcher_states (
        rule TEXT PRIMARY KEY,
        backend TEXT NOT NULL DEFAULT '',
        is_watching INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        acted_at REAL
    ) WITHOUT ROWID;
    CREATE TABLE watcher_switches (
        rule TEXT PRIMARY KEY,
        enabled INTEGER NOT NULL,
        written INTEGER NOT NULL,
        changed_at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE watcher_unsettled (
        run_id TEXT PRIMARY KEY
    ) WITHOUT ROWID;
    """,
    # The error that people were told, until the rule works: another process or the next start does not repeat it.
    "ALTER TABLE watcher_states ADD COLUMN told TEXT NOT NULL DEFAULT ''",
    # The table of runs has them now.
    """
    INSERT OR IGNORE INTO run_tasks (run_id) SELECT run_id FROM watcher_unsettled;
    DROP TABLE watcher_unsettled;
    """,
    # Changes that were taken, until their runs are recorded, which may be in another store.
    """
    CREATE TABLE watcher_taken (
        run_id TEXT PRIMARY KEY,
        event INTEGER NOT NULL,
        due_at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # The files whose last run failed, and that run.
    """
    CREATE TABLE watcher_failing (
        rule TEXT NOT NULL,
        path TEXT NOT NULL,
        run_id TEXT NOT NULL,
        PRIMARY KEY (rule, path)
    ) WITHOUT ROWID;
    INSERT OR IGNORE INTO watcher_failing
        SELECT subject_id, COALESCE(json_extract(params, '$.path'), ''), id FROM runs JOIN (
            SELECT MAX(id) AS newest FROM runs
            WHERE kind = 'watcher' AND finished_at IS NOT NULL AND status <> 'cancelled'
            GROUP BY subject_id, json_extract(params, '$.path')
        ) ON id = newest WHERE status IN ('failed', 'timed_out', 'interrupted', 'partially_succeeded');
    """,
)
