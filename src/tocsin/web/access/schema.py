"""The tables of access control; text only, because every start reads this module."""

# Never edit a released migration; add a new one.
MIGRATIONS = (
    """
    -- The hash of DASHBOARD_PASS, kept so that a start can tell a changed password from the same one.
    CREATE TABLE access_password (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        hash TEXT NOT NULL
    );
    -- What a cookie holds is stored only as its SHA-256.
    CREATE TABLE access_sessions (
        hash BLOB PRIMARY KEY,
        user TEXT NOT NULL,
        credential TEXT NOT NULL, -- the session ends when the login has another one
        remember INTEGER NOT NULL,
        created_at REAL NOT NULL,
        seen_at REAL NOT NULL,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX access_sessions_by_end ON access_sessions (expires_at);
    CREATE TABLE access_tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_used_at REAL
    ) WITHOUT ROWID;
    -- Links that sign in once.
    CREATE TABLE access_links (
        hash BLOB PRIMARY KEY,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # What the list of first steps remembers, by name.
    """
    CREATE TABLE access_first_steps (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    -- The profiles that a token may send to, divided by blanks; empty: to every target.
    ALTER TABLE access_tokens ADD COLUMN profiles TEXT NOT NULL DEFAULT '';
    """,
)
