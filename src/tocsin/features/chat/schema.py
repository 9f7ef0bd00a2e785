"""The tables of chat. Never edit a released migration; add a new one."""

from tocsin.core.storage.changes import recorded

MIGRATIONS = (
    # `seq` of a conversation numbers its events; `seq` of a message is the number of the last event that changed it.
    # A message in progress has an owner, the process that writes it, and a heartbeat.
    """
    CREATE TABLE chat_conversations (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        system_prompt TEXT NOT NULL,
        model TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        seq INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX chat_conversations_newest ON chat_conversations (updated_at, id);
    CREATE TABLE chat_messages (
        id TEXT PRIMARY KEY,
        conversation_id TEXT NOT NULL,
        place INTEGER NOT NULL,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        status TEXT NOT NULL,
        seq INTEGER NOT NULL,
        created_at REAL NOT NULL,
        finished_at REAL,
        model TEXT NOT NULL DEFAULT '',
        provider TEXT NOT NULL DEFAULT '',
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        truncated INTEGER NOT NULL DEFAULT 0,
        error TEXT,
        attachments TEXT NOT NULL DEFAULT '[]',
        client_message_id TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL DEFAULT '',
        beat_at REAL NOT NULL DEFAULT 0,
        stop_asked INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX chat_messages_place ON chat_messages (conversation_id, place);
    CREATE UNIQUE INDEX chat_messages_of_client ON chat_messages (client_message_id) WHERE client_message_id <> '';
    CREATE INDEX chat_messages_written ON chat_messages (conversation_id) WHERE status IN ('pending', 'streaming');
    CREATE TABLE chat_events (
        conversation_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event TEXT NOT NULL,
        data TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (conversation_id, seq)
    ) WITHOUT ROWID;
    CREATE INDEX chat_events_old ON chat_events (at);
    CREATE TABLE chat_attachments (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        media_type TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        text TEXT NOT NULL,
        is_cut INTEGER NOT NULL,
        data BLOB NOT NULL,
        created_at REAL NOT NULL,
        message_id TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX chat_attachments_of ON chat_attachments (message_id);
    """,
    recorded("chat_conversations", "chat", columns=("title", "updated_at")),
)
