"""The tables of the bot, by component. Never edit a released migration; add a new one."""

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
    # Key-value tables, with the same layout as the bot's records in Redis.
    """
    CREATE TABLE bot_access (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    INSERT INTO bot_access SELECT chat_id, json_object(
        'state', state, 'details', details, 'at', CAST(CAST(round(changed_at * 1000000) AS INTEGER) AS TEXT),
        'told', admin_told, 'notice', notice
    ), changed_at FROM chat_access;
    DROP TABLE chat_access;
    CREATE TABLE bot_moves (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    INSERT INTO bot_moves SELECT old_id, new_id, 0 FROM chat_moves;
    DROP TABLE chat_moves;
    """,
    "CREATE TABLE bot_old_ids (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;",
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
    # Message IDs are text: not every product uses numbers.
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
    """
    CREATE TABLE bot_modes (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    INSERT INTO bot_modes SELECT chat_id, mode, 0 FROM chat_modes;
    DROP TABLE chat_modes;
    CREATE TABLE bot_previews (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    INSERT INTO bot_previews SELECT received_id, message_id, created_at FROM previews;
    DROP TABLE previews;
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
    """
    CREATE TABLE bot_plans (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    INSERT INTO bot_plans
        SELECT id, json_object('chat', chat_id, 'steps', steps, 'taken', taken_by), created_at FROM plans;
    DROP TABLE plans;
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
    # Work that an earlier process did not finish is restarted in this one.
    """
    CREATE TABLE bot_chat_work (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
    DROP TABLE chat_work;
    DROP TABLE chat_cancels;
    DROP TABLE chat_resets;
    """,
)

PRESSES = ("CREATE TABLE bot_presses (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;",)

SCHEMAS = {"access": ACCESS, "bot": MEMORY, "chat_work": WORK, "intake": PLANS, "presses": PRESSES}
