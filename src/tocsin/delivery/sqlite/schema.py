"""The tables of the queue in SQLite. A released migration is never edited; a new one is added.

`due_mono` is monotonic time of the boot that `boot` names. A delivery is `asleep` until its
`not_before`; then it joins its lane. A lane exists while it has open deliveries that are awake;
`sending` is the one in flight. `pace` has the buckets that are not full: `tat`, their theoretical
arrival time (GCRA), and the provider's hold: its end on both clocks, and its reason.
A delivery that takes the place of another one gets its `seq`, and the other one a new `seq`.
`delivery_words` indexes deliveries `up_to` a number, later than they are accepted: indexing takes three times as long
as inserting the row. `extra` is JSON, or empty.
"""

from tocsin.core.storage.changes import noted

_FIRST = """
CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    message TEXT NOT NULL,
    source TEXT NOT NULL,
    status TEXT NOT NULL,
    policy TEXT NOT NULL,
    parse_mode TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    next_attempt_at REAL,
    due_mono REAL NOT NULL DEFAULT 0,
    asleep INTEGER NOT NULL DEFAULT 0,
    not_before REAL,
    expires_at REAL,
    idempotency_key TEXT UNIQUE,
    parts_sent INTEGER NOT NULL DEFAULT 0,
    parts_total INTEGER NOT NULL DEFAULT 0,
    provider_id TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    error_class TEXT NOT NULL DEFAULT '',
    finished_at REAL,
    duration_ms INTEGER
);
CREATE INDEX deliveries_lane ON deliveries (channel, target, seq)
    WHERE asleep = 0 AND status IN ('queued', 'sending', 'retry_wait');
CREATE INDEX deliveries_asleep ON deliveries (not_before) WHERE asleep = 1;
CREATE INDEX deliveries_mortal ON deliveries (expires_at)
    WHERE expires_at IS NOT NULL AND status IN ('queued', 'retry_wait');
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX deliveries_status ON deliveries (status, seq, channel);
CREATE INDEX deliveries_channel ON deliveries (channel, seq);
CREATE INDEX deliveries_target ON deliveries (target, seq, channel);
CREATE INDEX deliveries_created ON deliveries (created_at);

CREATE TABLE lanes (
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    due_mono REAL NOT NULL,
    worker TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0,
    sending INTEGER,
    recognises_repeats INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel, target)
) WITHOUT ROWID;
CREATE INDEX lanes_due ON lanes (channel, due_mono) WHERE worker = '';
CREATE INDEX lanes_leased ON lanes (lease_until) WHERE worker <> '';

CREATE TABLE pace (
    key TEXT PRIMARY KEY,
    tat REAL NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    blocked_until_wall REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX pace_full ON pace (max(tat, blocked_until));

CREATE TABLE boot (id TEXT NOT NULL);

CREATE VIRTUAL TABLE delivery_words USING fts5 (
    message, target, content = 'deliveries', content_rowid = 'seq', columnsize = 0
);
CREATE TABLE words_indexed (up_to INTEGER NOT NULL);
INSERT INTO words_indexed VALUES (0);
CREATE TRIGGER delivery_words_delete AFTER DELETE ON deliveries
WHEN old.seq <= (SELECT up_to FROM words_indexed WHERE rowid = 1) BEGIN
    INSERT INTO delivery_words (delivery_words, rowid, message, target)
    VALUES ('delete', old.seq, old.message, old.target);
END;
"""

_EXTRA = "ALTER TABLE deliveries ADD COLUMN extra TEXT NOT NULL DEFAULT '';"

_REASON = "ALTER TABLE pace ADD COLUMN reason TEXT NOT NULL DEFAULT '';"
CHANGES = "delivery_changes"

_DISMISSED = "ALTER TABLE deliveries ADD COLUMN dismissed INTEGER NOT NULL DEFAULT 0;"

_KEYS = """
ALTER TABLE deliveries ADD COLUMN key TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN operation TEXT NOT NULL DEFAULT 'send';
ALTER TABLE deliveries ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN ref TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN thread TEXT NOT NULL DEFAULT '';
CREATE INDEX deliveries_thread ON deliveries (channel, target, thread, seq) WHERE thread <> '';
CREATE INDEX deliveries_key ON deliveries (channel, target, key, seq) WHERE key <> '';
"""

# The index has only deliveries with files: `pack_extra` writes this text, and JSON strings cannot contain it.
HAS_FILES = """instr(extra, '"attach": [') > 0"""
_FILES = f"CREATE INDEX deliveries_files ON deliveries (finished_at) WHERE {HAS_FILES};"

MIGRATIONS = (_FIRST, _EXTRA, _REASON, noted("deliveries", CHANGES), _DISMISSED, _KEYS, _FILES)
