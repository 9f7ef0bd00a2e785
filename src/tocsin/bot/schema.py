"""The tables of the bot, by component. A released migration is never edited; a new one is added."""

ACCESS = (
    """
    CREATE TABLE chat_access (
        chat_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        details TEXT NOT NULL,
        changed_at REAL NOT NULL,
        admin_told INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX chat_access_state ON chat_access (state);
    CREATE TABLE chat_moves (
        old_id TEXT PRIMARY KEY,
        new_id TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX chat_moves_new ON chat_moves (new_id);
    """,
    "ALTER TABLE chat_access ADD COLUMN notice TEXT NOT NULL DEFAULT ''",
)

MEMORY = (
    """
    CREATE TABLE chat_modes (
        chat_id TEXT PRIMARY KEY,
        mode TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE previews (
        received_id TEXT PRIMARY KEY,
        message_id INTEGER NOT NULL,
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # Message IDs are text: not every product has numbers.
    """
    ALTER TABLE previews RENAME TO previews_before;
    CREATE TABLE previews (
        received_id TEXT PRIMARY KEY,
        message_id TEXT NOT NULL,
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO previews SELECT received_id, CAST(message_id AS TEXT), created_at FROM previews_before;
    DROP TABLE previews_before;
    """,
)

PLANS = (
    """
    CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        chat_id TEXT NOT NULL,
        steps TEXT NOT NULL,
        taken_by TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
)

WORK = (
    """
    CREATE TABLE chat_work (
        received_id TEXT PRIMARY KEY,
        chat_id TEXT NOT NULL,
        cancelled INTEGER NOT NULL DEFAULT 0,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE chat_cancels (
        chat_id TEXT PRIMARY KEY,
        before INTEGER NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE chat_resets (
        history TEXT PRIMARY KEY,
        before INTEGER NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
)

SCHEMAS = {"access": ACCESS, "bot": MEMORY, "chat_work": WORK, "intake": PLANS}
