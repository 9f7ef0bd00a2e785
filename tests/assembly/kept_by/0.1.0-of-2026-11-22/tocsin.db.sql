BEGIN TRANSACTION;
CREATE TABLE access_links (
        hash BLOB PRIMARY KEY,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE access_password (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        hash TEXT NOT NULL
    );
CREATE TABLE access_sessions (
        hash BLOB PRIMARY KEY,
        user TEXT NOT NULL,
        credential TEXT NOT NULL, -- the session ends when the login has another one
        remember INTEGER NOT NULL,
        created_at REAL NOT NULL,
        seen_at REAL NOT NULL,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE access_tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_used_at REAL
    ) WITHOUT ROWID;
CREATE TABLE boot (id TEXT NOT NULL);
INSERT INTO "boot" VALUES('c5f1d40e-85ff-43e2-bd1e-ad8b297b1010');
CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        topic TEXT NOT NULL,
        subject TEXT NOT NULL,
        kind TEXT NOT NULL,
        at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
    ) STRICT;
CREATE TABLE chat_access (
        chat_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        details TEXT NOT NULL,
        changed_at REAL NOT NULL,
        admin_told INTEGER NOT NULL DEFAULT 0
    , notice TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "chat_access" VALUES('7','pending','{"name": "Ann"}',1.79539851570563912391e+09,1,'delivery-1');
INSERT INTO "chat_access" VALUES('8','allowed','{}',1.79539851570563912391e+09,0,'');
INSERT INTO "chat_access" VALUES('9','denied','{}',1.79539851570563912391e+09,0,'');
CREATE TABLE chat_modes (
        chat_id TEXT PRIMARY KEY,
        mode TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "chat_modes" VALUES('8','skill');
CREATE TABLE chat_moves (
        old_id TEXT PRIMARY KEY,
        new_id TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "chat_moves" VALUES('-1','-100');
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
, extra TEXT NOT NULL DEFAULT '');
INSERT INTO "deliveries" VALUES(1,'01a20617-3c48-7b4f-8a0e-520bcc6b9852','bell','a','sent','test','sent','at_least_once','',1.79539851570563912391e+09,1,0,NULL,0.0,0,NULL,NULL,'k1',1,1,'ts=1','','',1.79539851570563912391e+09,12,'');
INSERT INTO "deliveries" VALUES(2,'01a20617-3c48-7150-b82b-5a6a35ff85b7','bell','a','queued','test','queued','at_least_once','',1.79539851570563912391e+09,0,0,NULL,0.0,0,NULL,NULL,NULL,0,0,'','','',NULL,NULL,'{"thread": "7"}');
INSERT INTO "deliveries" VALUES(3,'01a20617-3c48-7798-b10b-1afa488967f8','bell','b','dead','test','dead','at_least_once','',1.79539851570563912391e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,0,0,'','no such target','permanent',1.79539851570563912391e+09,0,'');
INSERT INTO "deliveries" VALUES(4,'01a20617-3c48-74b5-b969-912fcc0bf27b','bell','c','waits for its retry','test','retry_wait','at_least_once','',1.79539851570563912391e+09,1,1,1.7953985757056391239e+09,1.7953985757056391239e+09,0,NULL,NULL,NULL,0,0,'','refused','transient',NULL,0,'');
INSERT INTO "deliveries" VALUES(5,'01a20617-3c48-708f-a65a-da9324336e2a','bell','d','later','test','queued','at_least_once','',1.79539851570563912391e+09,0,0,NULL,0.0,1,1.79539901570563912389e+09,NULL,NULL,0,0,'','','',NULL,NULL,'');
INSERT INTO "deliveries" VALUES(6,'01a20617-3c48-7f2f-a5e5-741df6a23cd7','bell','e','in flight','test','sending','at_least_once','',1.79539851570563912391e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,0,0,'','','',NULL,NULL,'');
INSERT INTO "deliveries" VALUES(7,'01a20617-3c48-73ce-8e78-8c0dba78c69a','bell','f','in flight, once','test','sending','at_most_once','',1.79539851570563912391e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,0,0,'','','',NULL,NULL,'');
CREATE TABLE delivery_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL) STRICT;
INSERT INTO "delivery_changes" VALUES(1,'01a20617-3c48-7b4f-8a0e-520bcc6b9852');
INSERT INTO "delivery_changes" VALUES(2,'01a20617-3c48-7150-b82b-5a6a35ff85b7');
INSERT INTO "delivery_changes" VALUES(3,'01a20617-3c48-7798-b10b-1afa488967f8');
INSERT INTO "delivery_changes" VALUES(4,'01a20617-3c48-74b5-b969-912fcc0bf27b');
INSERT INTO "delivery_changes" VALUES(5,'01a20617-3c48-708f-a65a-da9324336e2a');
INSERT INTO "delivery_changes" VALUES(6,'01a20617-3c48-7f2f-a5e5-741df6a23cd7');
INSERT INTO "delivery_changes" VALUES(7,'01a20617-3c48-73ce-8e78-8c0dba78c69a');
INSERT INTO "delivery_changes" VALUES(8,'01a20617-3c48-7b4f-8a0e-520bcc6b9852');
INSERT INTO "delivery_changes" VALUES(9,'01a20617-3c48-7798-b10b-1afa488967f8');
INSERT INTO "delivery_changes" VALUES(10,'01a20617-3c48-74b5-b969-912fcc0bf27b');
INSERT INTO "delivery_changes" VALUES(11,'01a20617-3c48-7f2f-a5e5-741df6a23cd7');
INSERT INTO "delivery_changes" VALUES(12,'01a20617-3c48-73ce-8e78-8c0dba78c69a');
INSERT INTO "delivery_changes" VALUES(13,'01a20617-3c48-7b4f-8a0e-520bcc6b9852');
INSERT INTO "delivery_changes" VALUES(14,'01a20617-3c48-7798-b10b-1afa488967f8');
INSERT INTO "delivery_changes" VALUES(15,'01a20617-3c48-74b5-b969-912fcc0bf27b');
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','delivery_words','delivery_words',0,'CREATE VIRTUAL TABLE delivery_words USING fts5 (
    message, target, content = ''deliveries'', content_rowid = ''seq'', columnsize = 0
)');
CREATE TABLE 'delivery_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "delivery_words_config" VALUES('version',4);
CREATE TABLE 'delivery_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "delivery_words_data" VALUES(1,X'');
INSERT INTO "delivery_words_data" VALUES(10,X'00000000000000');
CREATE TABLE 'delivery_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE idempotency (
        key TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        status INTEGER,
        body TEXT,
        created_at REAL NOT NULL,
        lease_until REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "idempotency" VALUES('answered','digest',202,'{"id": "1"}',1.79539851570563912391e+09,1.79539852570563912394e+09);
INSERT INTO "idempotency" VALUES('interrupted','digest',NULL,NULL,1.79539851570563912391e+09,1.79539852570563912394e+09);
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
INSERT INTO "inbox" VALUES(1,'01a20617-3c6d-7be0-9fe2-8e344cf4783d','bell','x','message',0,'answered','{"channel":"bell","kind":"message","id":"e1","dedupe_keys":["e1"],"chat_id":"x","text":"ended","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'',0,'','',NULL,1.79539851570563912391e+09);
INSERT INTO "inbox" VALUES(2,'01a20617-3c6d-75b0-9062-5f96f7dd4366','bell','x','message',0,'working','{"channel":"bell","kind":"message","id":"e2","dedupe_keys":["e2"],"chat_id":"x","text":"in work","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[{"kind":"photo","file_id":"f1","mime":"image/png","name":"","size":3,"duration":null,"width":3,"height":null}],"things":[],"quote":{"sender_name":"Ann","sender_username":"","sender_id":null,"text":"before","is_cut":false,"by_bot":false,"attachments":[{"kind":"photo","file_id":"f1","mime":"image/png","name":"","size":3,"duration":null,"width":3,"height":null}],"things":[]},"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',1,'','',NULL,NULL);
INSERT INTO "inbox" VALUES(3,'01a20617-3c6d-7c87-b4a9-7dc2496e8fc1','bell','y','message',0,'replying','{"channel":"bell","kind":"message","id":"e3","dedupe_keys":["e3"],"chat_id":"y","text":"answered in part","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',0,'answered','as asked','[{"text": "half of it", "parse_mode": "", "extra": {"buttons": []}}, {"text": "the rest", "parse_mode": "plain", "extra": {}}]',NULL);
INSERT INTO "inbox" VALUES(4,'01a20617-3c6d-71ec-8644-b046a7094844','bell','z','command',1,'new','{"channel":"bell","kind":"command","id":"e4","dedupe_keys":["e4"],"chat_id":"z","text":"","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":"help","args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',0,'','',NULL,NULL);
INSERT INTO "inbox" VALUES(5,'01a20617-3c6d-79c8-afba-e89012c14fef','bell','z','callback',1,'new','{"channel":"bell","kind":"callback","id":"e5","dedupe_keys":["e5"],"chat_id":"z","text":"","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":"c1","callback_data":"mode:chat","reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',0,'','',NULL,NULL);
INSERT INTO "inbox" VALUES(6,'01a20617-3c6d-76d3-ad5f-d41b67b4a3b0','bell','x','edit',0,'new','{"channel":"bell","kind":"edit","id":"e6","dedupe_keys":["e6"],"chat_id":"x","text":"corrected","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',0,'','',NULL,NULL);
INSERT INTO "inbox" VALUES(7,'01a20617-3c6d-7fc9-9843-d3e3fee40e56','bell','w','message',0,'new','{"channel":"bell","kind":"message","id":"e7","dedupe_keys":["e7"],"chat_id":"w","text":"new","thread_id":null,"chat_type":"private","chat_title":"","sender_id":null,"sender_name":"","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":5.0,"received_at":0.0,"waited":null,"sender_username":"","sender_language":""}',1.79539851570563912391e+09,'killed',0,'','',NULL,NULL);
CREATE TABLE inbox_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL) STRICT;
INSERT INTO "inbox_changes" VALUES(1,'1');
INSERT INTO "inbox_changes" VALUES(2,'2');
INSERT INTO "inbox_changes" VALUES(3,'3');
INSERT INTO "inbox_changes" VALUES(4,'4');
INSERT INTO "inbox_changes" VALUES(5,'5');
INSERT INTO "inbox_changes" VALUES(6,'6');
INSERT INTO "inbox_changes" VALUES(7,'7');
INSERT INTO "inbox_changes" VALUES(8,'1');
INSERT INTO "inbox_changes" VALUES(9,'2');
INSERT INTO "inbox_changes" VALUES(10,'3');
INSERT INTO "inbox_changes" VALUES(11,'1');
INSERT INTO "inbox_changes" VALUES(12,'3');
CREATE TABLE inbox_cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "inbox_cursors" VALUES('bell',17);
CREATE TABLE inbox_keys (
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    claimed_at REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "inbox_keys" VALUES('bell','e1',1,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e2',2,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e3',3,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e4',4,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e5',5,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e6',6,1.79539851570563912391e+09);
INSERT INTO "inbox_keys" VALUES('bell','e7',7,1.79539851570563912391e+09);
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
INSERT INTO "lanes" VALUES('bell','a',1.79539851570563912391e+09,'',0.0,NULL,0);
INSERT INTO "lanes" VALUES('bell','c',1.7953985757056391239e+09,'',0.0,NULL,0);
INSERT INTO "lanes" VALUES('bell','e',1.79539851570563912391e+09,'killed',1.79539852470563912395e+09,6,0);
INSERT INTO "lanes" VALUES('bell','f',1.79539851570563912391e+09,'killed',1.79539852470563912395e+09,7,0);
CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        token INTEGER NOT NULL,
        beat INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL);
INSERT INTO "migrations" VALUES('changes',1);
INSERT INTO "migrations" VALUES('delivery',4);
INSERT INTO "migrations" VALUES('idempotency',1);
INSERT INTO "migrations" VALUES('inbox',4);
INSERT INTO "migrations" VALUES('presence',1);
INSERT INTO "migrations" VALUES('runs',4);
INSERT INTO "migrations" VALUES('scheduling',1);
INSERT INTO "migrations" VALUES('web_access',1);
INSERT INTO "migrations" VALUES('access',2);
INSERT INTO "migrations" VALUES('bot',2);
INSERT INTO "migrations" VALUES('intake',1);
CREATE TABLE pace (
    key TEXT PRIMARY KEY,
    tat REAL NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    blocked_until_wall REAL NOT NULL DEFAULT 0
, reason TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "pace" VALUES('account|horn',0.0,1.79540211570563912387e+09,1.79540211570563912387e+09,'slow down');
CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        chat_id TEXT NOT NULL,
        steps TEXT NOT NULL,
        taken_by TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "plans" VALUES('0123456789abcdef','8','[{"requirement": "save the files", "skill": "backup", "ok": null, "result": ""}]','',1.79539851570563912391e+09);
INSERT INTO "plans" VALUES('974b9b2423821d81','8','[{"requirement": "save the files", "skill": "backup", "ok": null, "result": ""}]','',1.79539851570563912391e+09);
CREATE TABLE previews (
        received_id TEXT PRIMARY KEY,
        message_id TEXT NOT NULL,
        created_at REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "previews" VALUES('event-1','41',1.79539851570563912391e+09);
CREATE TABLE processes (identity TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
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
    , snapshot TEXT, history_limit INTEGER, history_days REAL, delivery_status TEXT NOT NULL DEFAULT 'none', delivery_results TEXT NOT NULL DEFAULT '[]', delivery_queued TEXT NOT NULL DEFAULT '[]', source TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE words_indexed (up_to INTEGER NOT NULL);
INSERT INTO "words_indexed" VALUES(0);
CREATE TRIGGER changes_tidy AFTER INSERT ON changes WHEN new.seq % 100 = 0 BEGIN
        DELETE FROM changes
        WHERE seq IN (SELECT seq FROM changes WHERE seq <= new.seq - 1000 ORDER BY seq LIMIT 500)
            AND (at < new.at - 300 OR at > new.at + 300 OR seq <= new.seq - 100000);
    END;
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
CREATE INDEX lanes_due ON lanes (channel, due_mono) WHERE worker = '';
CREATE INDEX lanes_leased ON lanes (lease_until) WHERE worker <> '';
CREATE INDEX pace_full ON pace (max(tat, blocked_until));
CREATE TRIGGER delivery_words_delete AFTER DELETE ON deliveries
WHEN old.seq <= (SELECT up_to FROM words_indexed WHERE rowid = 1) BEGIN
    INSERT INTO delivery_words (delivery_words, rowid, message, target)
    VALUES ('delete', old.seq, old.message, old.target);
END;
CREATE TRIGGER delivery_changes_created AFTER INSERT ON deliveries BEGIN
        INSERT INTO delivery_changes (subject) VALUES (new.id);
    END;
CREATE TRIGGER delivery_changes_updated AFTER UPDATE OF status ON deliveries WHEN new.status <> old.status BEGIN
        INSERT INTO delivery_changes (subject) VALUES (new.id);
    END;
CREATE TRIGGER delivery_changes_tidy AFTER INSERT ON delivery_changes WHEN new.seq % 500 = 0 BEGIN
        DELETE FROM delivery_changes WHERE seq <= new.seq - 5000;
    END;
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX inbox_open ON inbox (owner, seq) WHERE finished_at IS NULL;
CREATE INDEX inbox_status ON inbox (status, seq);
CREATE INDEX inbox_bodies ON inbox (finished_at) WHERE finished_at IS NOT NULL AND message IS NOT NULL;
CREATE UNIQUE INDEX inbox_keys_number ON inbox_keys (channel, number);
CREATE INDEX inbox_keys_age ON inbox_keys (claimed_at);
CREATE INDEX inbox_chats ON inbox (channel, chat, seq) WHERE finished_at IS NULL AND NOT urgent;
CREATE TRIGGER inbox_changes_created AFTER INSERT ON inbox BEGIN
        INSERT INTO inbox_changes (subject) VALUES (new.seq);
    END;
CREATE TRIGGER inbox_changes_updated AFTER UPDATE OF status ON inbox WHEN new.status <> old.status BEGIN
        INSERT INTO inbox_changes (subject) VALUES (new.seq);
    END;
CREATE TRIGGER inbox_changes_tidy AFTER INSERT ON inbox_changes WHEN new.seq % 500 = 0 BEGIN
        DELETE FROM inbox_changes WHERE seq <= new.seq - 5000;
    END;
CREATE INDEX runs_subject ON runs (kind, subject_id, id);
CREATE INDEX runs_status ON runs (status, id);
CREATE UNIQUE INDEX runs_instant ON runs (kind, subject_id, scheduled_for)
        WHERE scheduled_for IS NOT NULL AND retry_of IS NULL AND triggered_by IN ('schedule', 'catchup');
CREATE INDEX runs_undelivered ON runs (id) WHERE delivery_status = 'pending';
CREATE INDEX runs_retries ON runs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX runs_children ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE TRIGGER changes_of_runs_created AFTER INSERT ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.id, 'created'); END;
CREATE TRIGGER changes_of_runs_updated AFTER UPDATE OF status, delivery_status ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.id, 'updated'); END;
CREATE TRIGGER changes_of_runs_deleted AFTER DELETE ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', old.id, 'deleted'); END;
CREATE TRIGGER changes_of_run_parts_insert AFTER INSERT ON run_parts BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.run_id, 'updated'); END;
CREATE TRIGGER changes_of_run_parts_update AFTER UPDATE ON run_parts BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.run_id, 'updated'); END;
CREATE INDEX access_sessions_by_end ON access_sessions (expires_at);
CREATE INDEX chat_access_state ON chat_access (state);
CREATE INDEX chat_moves_new ON chat_moves (new_id);
PRAGMA writable_schema=OFF;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('delivery_changes',15);
INSERT INTO "sqlite_sequence" VALUES('inbox_changes',12);
COMMIT;
