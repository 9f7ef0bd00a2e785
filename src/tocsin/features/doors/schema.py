"""The tables of doors. A released migration is never edited; a new one is added."""

from tocsin.core.storage.changes import recorded

MIGRATIONS = (
    # Of the token only its hash is stored. A removed door stays until the requests that it accepted are pruned.
    # `door_problems` has the keys of problems: `episode` counts how often a key became a problem.
    """
    CREATE TABLE doors (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        protocol TEXT NOT NULL,
        definition TEXT NOT NULL,
        token_hash BLOB NOT NULL UNIQUE,
        secret TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        removed_at REAL,
        requests INTEGER NOT NULL DEFAULT 0,
        last_at REAL
    );
    CREATE UNIQUE INDEX doors_name ON doors (name) WHERE removed_at IS NULL;
    CREATE TABLE door_requests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        door_id TEXT NOT NULL,
        at REAL NOT NULL,
        client TEXT NOT NULL,
        status INTEGER NOT NULL,
        state TEXT NOT NULL,
        facts TEXT NOT NULL,
        body BLOB NOT NULL,
        outcome TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX door_requests_of ON door_requests (door_id, id);
    CREATE INDEX door_requests_waiting ON door_requests (id) WHERE state = 'stored';
    CREATE TABLE door_repeats (
        door_id TEXT NOT NULL,
        digest BLOB NOT NULL,
        request INTEGER NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (door_id, digest)
    ) WITHOUT ROWID;
    CREATE TABLE door_problems (
        door_id TEXT NOT NULL,
        key TEXT NOT NULL,
        episode INTEGER NOT NULL,
        is_open INTEGER NOT NULL,
        at REAL NOT NULL,
        expires_at REAL,
        message TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (door_id, key)
    ) WITHOUT ROWID;
    """,
    recorded("doors", "doors", columns=("definition", "token_hash", "removed_at", "requests")),
)
