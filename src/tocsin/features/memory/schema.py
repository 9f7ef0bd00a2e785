"""The tables of memory. Never edit a released migration; add a new one."""

MIGRATIONS = (
    # `value` is the last column: the others of a long entry are read without it.
    """
    CREATE TABLE memory_entries (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        type TEXT NOT NULL,
        scope TEXT NOT NULL,
        source TEXT NOT NULL,
        importance REAL NOT NULL,
        pinned INTEGER NOT NULL,
        half_life_days REAL,
        access_count INTEGER NOT NULL,
        last_accessed_at REAL NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        expires_at REAL,
        removed_at REAL,
        unspaced INTEGER NOT NULL,
        tags TEXT NOT NULL,
        value TEXT NOT NULL
    );
    CREATE UNIQUE INDEX memory_entries_key ON memory_entries (key) WHERE removed_at IS NULL;
    CREATE INDEX memory_entries_removed ON memory_entries (removed_at) WHERE removed_at IS NOT NULL;
    CREATE INDEX memory_entries_scope ON memory_entries (scope, updated_at);
    CREATE INDEX memory_entries_unspaced ON memory_entries (scope) WHERE unspaced;
    -- What searching and decay ask of every entry: a fraction of the table.
    CREATE INDEX memory_entries_weight ON memory_entries (
        id, removed_at, expires_at, pinned, half_life_days, importance, last_accessed_at
    );
    CREATE TABLE memory_decays (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        decayed_at REAL NOT NULL,
        removed INTEGER NOT NULL
    );

    CREATE VIRTUAL TABLE memory_words USING fts5(
        key, value, tags, content='memory_entries', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER memory_words_added AFTER INSERT ON memory_entries BEGIN
        INSERT INTO memory_words (rowid, key, value, tags) VALUES (new.id, new.key, new.value, new.tags);
    END;
    CREATE TRIGGER memory_words_deleted AFTER DELETE ON memory_entries BEGIN
        INSERT INTO memory_words (memory_words, rowid, key, value, tags)
        VALUES ('delete', old.id, old.key, old.value, old.tags);
    END;

    CREATE VIRTUAL TABLE memory_pieces USING fts5(
        key, value, tags, content='memory_entries', content_rowid='id', tokenize='trigram'
    );
    CREATE TRIGGER memory_pieces_added AFTER INSERT ON memory_entries WHEN new.unspaced BEGIN
        INSERT INTO memory_pieces (rowid, key, value, tags) VALUES (new.id, new.key, new.value, new.tags);
    END;
    CREATE TRIGGER memory_pieces_deleted AFTER DELETE ON memory_entries WHEN old.unspaced BEGIN
        INSERT INTO memory_pieces (memory_pieces, rowid, key, value, tags)
        VALUES ('delete', old.id, old.key, old.value, old.tags);
    END;
    """,
    # Each replacement looks up the removed entries of its key.
    "CREATE INDEX memory_entries_removed_key ON memory_entries (key, removed_at) WHERE removed_at IS NOT NULL;",
)
