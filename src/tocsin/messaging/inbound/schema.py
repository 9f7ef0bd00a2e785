"""The tables of the inbox. A released migration is never edited; a new one is added.

`owner` is the identity of the process that holds an open event, or empty. `number` counts the keys of a channel, so
that the oldest keys are found quickly when there are too many.
"""

from tocsin.core.storage.changes import noted

_FIRST = """
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    urgent INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'new',
    message TEXT,
    accepted_at REAL NOT NULL,
    owner TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    ending TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    replies TEXT,
    finished_at REAL
);
CREATE INDEX inbox_open ON inbox (owner, seq) WHERE finished_at IS NULL;
CREATE INDEX inbox_status ON inbox (status, seq);
CREATE INDEX inbox_bodies ON inbox (finished_at) WHERE finished_at IS NOT NULL AND message IS NOT NULL;

CREATE TABLE inbox_keys (
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    claimed_at REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX inbox_keys_number ON inbox_keys (channel, number);
CREATE INDEX inbox_keys_age ON inbox_keys (claimed_at);

CREATE TABLE inbox_cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE inbox_owners (identity TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
"""

# Heartbeats belong to a process, not to its messages: see `core/process/presence.py`.
_WITHOUT_BEATS = "DROP TABLE inbox_owners;"

# Set if an event waits for an earlier one of its chat.
_CHATS = "CREATE INDEX inbox_chats ON inbox (channel, chat, seq) WHERE finished_at IS NULL AND NOT urgent;"

CHANGES = "inbox_changes"

MIGRATIONS = (_FIRST, _WITHOUT_BEATS, _CHATS, noted("inbox", CHANGES, key="seq"))
