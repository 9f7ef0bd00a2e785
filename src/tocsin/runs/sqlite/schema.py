"""The tables of runs. A released migration is never edited; a new one is added."""

from tocsin.core.storage.changes import recorded, recorded_as_update

_BOUND = """
    CASE WHEN started_at IS NULL THEN 0 WHEN finished_at - started_at <= 0.1 THEN 0.1
    WHEN finished_at - started_at <= 0.5 THEN 0.5 WHEN finished_at - started_at <= 1 THEN 1
    WHEN finished_at - started_at <= 5 THEN 5 WHEN finished_at - started_at <= 15 THEN 15
    WHEN finished_at - started_at <= 60 THEN 60 WHEN finished_at - started_at <= 300 THEN 300
    WHEN finished_at - started_at <= 900 THEN 900 WHEN finished_at - started_at <= 3600 THEN 3600
    WHEN finished_at - started_at <= 14400 THEN 14400 ELSE 1e999 END
"""
_SECONDS = "MAX(COALESCE(finished_at - started_at, 0), 0)"  # 0 if the clock was set back
_COUNT = f"""
    INSERT INTO run_totals
        SELECT kind, status, {_BOUND}, 1, {_SECONDS}, finished_at FROM runs WHERE id = new.id
        ON CONFLICT DO UPDATE SET runs = runs + 1, seconds = seconds + excluded.seconds, last_at = excluded.last_at;
"""  # noqa: S608  # our own words

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
    # A scheduled instant is recorded once; retries and manual runs are not limited.
    """
    ALTER TABLE runs ADD COLUMN snapshot TEXT;
    ALTER TABLE runs ADD COLUMN history_limit INTEGER;
    ALTER TABLE runs ADD COLUMN history_days REAL;
    ALTER TABLE runs ADD COLUMN delivery_status TEXT NOT NULL DEFAULT 'none';
    ALTER TABLE runs ADD COLUMN delivery_results TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE runs ADD COLUMN delivery_queued TEXT NOT NULL DEFAULT '[]';
    CREATE UNIQUE INDEX runs_instant ON runs (kind, subject_id, scheduled_for)
        WHERE scheduled_for IS NOT NULL AND retry_of IS NULL AND triggered_by IN ('schedule', 'catchup');
    CREATE INDEX runs_undelivered ON runs (id) WHERE delivery_status = 'pending';
    CREATE INDEX runs_retries ON runs (retry_of) WHERE retry_of IS NOT NULL;
    CREATE INDEX runs_children ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
    CREATE TABLE run_parts (
        run_id TEXT NOT NULL,
        part TEXT NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (run_id, part, name)
    );
    CREATE TABLE run_waits (
        run_id TEXT NOT NULL,
        step TEXT NOT NULL,
        message TEXT NOT NULL,
        approvers TEXT NOT NULL,
        since REAL NOT NULL,
        approved INTEGER,
        decided_by TEXT,
        decided_at REAL,
        comment TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (run_id, step)
    ) WITHOUT ROWID;
    """,
    # Every change that is visible to people writes one of these columns.
    recorded("runs", "runs", columns=("status", "delivery_status"))
    + recorded_as_update("run_parts", "runs", key="run_id"),
    # The source of the request that started a run, because another process may settle it.
    "ALTER TABLE runs ADD COLUMN source TEXT NOT NULL DEFAULT ''",
    # For the newest runs of a kind, and for counting the outcomes of a day.
    """
    CREATE INDEX runs_kind ON runs (kind, id);
    CREATE INDEX runs_ended ON runs (status, queued_at);
    """,
    # For runs whose messages may be sent again.
    "CREATE INDEX runs_unsent ON runs (id) WHERE delivery_status IN ('failed', 'partial')",
    # The ID in the buttons of a question, the chats that received it, and whether its starter may answer.
    """
    ALTER TABLE run_waits ADD COLUMN question TEXT NOT NULL DEFAULT '';
    ALTER TABLE run_waits ADD COLUMN asked_in TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE run_waits ADD COLUMN not_by_starter INTEGER NOT NULL DEFAULT 0;
    """,
    # One row for each run that is not settled; see `RunTask`. Runs without an owner are few.
    """
    CREATE TABLE run_tasks (
        run_id TEXT PRIMARY KEY,
        request TEXT NOT NULL DEFAULT '{}',
        caller TEXT NOT NULL DEFAULT '{}',
        not_before REAL,
        noted TEXT,
        noted_at REAL
    ) WITHOUT ROWID;
    INSERT INTO run_tasks (run_id) SELECT id FROM runs
        WHERE kind IN ('workflow', 'ssh', 'skill') AND status IN ('queued', 'running', 'waiting', 'cancelling');
    """,
    # The changes that the ends of runs made to tables of features; see `runs/engine/note_once.py`.
    """
    CREATE TABLE run_notes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL UNIQUE,
        noted TEXT NOT NULL
    );
    """,
    # Totals of ended runs by bucket of durations (`runs/engine/metrics.py`); 0 is that of runs that never started.
    # A run that has started is inserted as ended only when it moves here from another store: it was counted there.
    f"""
    CREATE TABLE run_totals (
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        bound REAL NOT NULL,
        runs INTEGER NOT NULL,
        seconds REAL NOT NULL,
        last_at REAL NOT NULL,
        PRIMARY KEY (kind, status, bound)
    ) WITHOUT ROWID;
    INSERT INTO run_totals
        SELECT kind, status, {_BOUND} AS bound, COUNT(*), SUM({_SECONDS}), MAX(finished_at)
        FROM runs WHERE finished_at IS NOT NULL GROUP BY kind, status, bound;
    CREATE TRIGGER run_totals_ended AFTER UPDATE OF finished_at ON runs
        WHEN old.finished_at IS NULL AND new.finished_at IS NOT NULL BEGIN {_COUNT} END;
    CREATE TRIGGER run_totals_never_started AFTER INSERT ON runs
        WHEN new.finished_at IS NOT NULL AND new.started_at IS NULL BEGIN {_COUNT} END;
    """,  # noqa: S608  # our own words
)
