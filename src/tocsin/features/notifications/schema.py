"""The tables of notifications. Never edit a released migration; add a new one."""

from tocsin.core.storage.changes import recorded

MIGRATIONS = (
    """
    CREATE TABLE notifications (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        level TEXT NOT NULL,
        category TEXT NOT NULL,
        source TEXT NOT NULL,
        link TEXT NOT NULL,
        dedupe_key TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_at REAL NOT NULL,
        read_at REAL,
        count INTEGER NOT NULL DEFAULT 1,
        due INTEGER NOT NULL,
        told INTEGER NOT NULL DEFAULT 0,
        told_at REAL,
        told_count INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX notifications_by_key ON notifications (dedupe_key, created_at) WHERE dedupe_key <> '';
    CREATE INDEX notifications_due ON notifications (seq) WHERE due = 1;
    CREATE INDEX notifications_unread ON notifications (seq) WHERE read_at IS NULL;
    CREATE TABLE notifications_sent (at REAL NOT NULL, digest INTEGER NOT NULL) STRICT;
    CREATE TABLE notifications_forwarder (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        holder TEXT NOT NULL,
        until REAL NOT NULL
    ) STRICT;
    """,
    recorded("notifications", "notifications", columns=("title", "body", "level", "link", "count", "read_at")),
    # The step that waits for approval; empty once it was decided.
    """
    ALTER TABLE notifications ADD COLUMN run_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE notifications ADD COLUMN step TEXT NOT NULL DEFAULT '';
    """,
    # The target on which a person confirmed that a test message arrived.
    """
    CREATE TABLE notifications_target (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        channel TEXT NOT NULL,
        target TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT;
    """,
)
