"""The tables of heartbeats. A released migration is never edited; a new one is added."""

from tocsin.core.storage.changes import recorded

MIGRATIONS = (
    # `code` is the UUID of the ping address. `due_at` is the instant that is expected next, `next_at` when something
    # has to be decided. A removed heartbeat keeps its address and its history for a while.
    """
    CREATE TABLE heartbeats (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        code TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,
        definition TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        removed_at REAL,
        state TEXT NOT NULL,
        since REAL NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        due_at REAL,
        next_at REAL,
        misses INTEGER NOT NULL DEFAULT 0,
        runs TEXT NOT NULL DEFAULT '[]',
        pings INTEGER NOT NULL DEFAULT 0,
        last_ping_at REAL,
        last_kind TEXT NOT NULL DEFAULT '',
        last_duration_s REAL,
        told TEXT NOT NULL DEFAULT '',
        told_at REAL NOT NULL DEFAULT 0,
        quiet_until REAL
    ) WITHOUT ROWID;
    CREATE INDEX heartbeats_next ON heartbeats (next_at) WHERE next_at IS NOT NULL;
    CREATE TABLE heartbeat_instants (
        heartbeat_id TEXT NOT NULL,
        due_at REAL NOT NULL,
        state TEXT NOT NULL,
        ping INTEGER,
        PRIMARY KEY (heartbeat_id, due_at)
    ) WITHOUT ROWID;
    CREATE TABLE heartbeat_pings (
        heartbeat_id TEXT NOT NULL,
        n INTEGER NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        exit_status INTEGER,
        rid TEXT NOT NULL,
        duration_s REAL,
        method TEXT NOT NULL,
        client TEXT NOT NULL,
        agent TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (heartbeat_id, n)
    ) WITHOUT ROWID;
    CREATE TABLE heartbeat_bodies (
        heartbeat_id TEXT NOT NULL,
        n INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (heartbeat_id, n)
    );
    CREATE TABLE heartbeat_changes (
        heartbeat_id TEXT NOT NULL,
        at REAL NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (heartbeat_id, at)
    ) WITHOUT ROWID;
    CREATE TABLE heartbeat_messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        message TEXT NOT NULL
    );
    CREATE TABLE heartbeat_watch (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        alive_at REAL NOT NULL,
        since REAL NOT NULL
    );
    CREATE TABLE heartbeat_keys (
        purpose TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    recorded("heartbeats", "heartbeats", columns=("definition", "state", "source", "removed_at", "pings")),
    # `relayed` is the last ping from another host that was counted.
    "ALTER TABLE heartbeat_watch ADD COLUMN relayed TEXT NOT NULL DEFAULT ''",
)
