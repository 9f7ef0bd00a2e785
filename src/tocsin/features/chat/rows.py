"""Conversations, messages and events as rows; call these functions inside a transaction."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.features.chat.model import (
    USER,
    AttachmentInfo,
    ChatConversation,
    ChatMessage,
    MessageStatus,
    UnknownConversationError,
    unknown_conversation,
)

KEEP_EVENTS, KEEP_EVENTS_S = 1_000, 300.0
_TIDY_EVERY = 50  # events

CONVERSATIONS = """
    SELECT c.*, l.role AS last_role, l.content AS last_text, l.created_at AS last_at,
        a.model AS answered_by, a.provider AS provider,
        (SELECT COUNT(*) FROM chat_messages WHERE conversation_id = c.id) AS message_count,
        (SELECT COUNT(*) FROM chat_messages
            WHERE conversation_id = c.id AND status IN ('pending', 'streaming')) AS is_generating,
        (SELECT COALESCE(SUM(input_tokens), 0) FROM chat_messages WHERE conversation_id = c.id) AS input_tokens,
        (SELECT COALESCE(SUM(output_tokens), 0) FROM chat_messages WHERE conversation_id = c.id) AS output_tokens
    FROM chat_conversations c
    LEFT JOIN chat_messages l ON l.conversation_id = c.id
        AND l.place = (SELECT MAX(place) FROM chat_messages WHERE conversation_id = c.id)
    LEFT JOIN chat_messages a ON a.conversation_id = c.id
        AND a.place = (SELECT MAX(place) FROM chat_messages WHERE conversation_id = c.id AND model <> '')
"""


def to_conversation(row: sqlite3.Row) -> ChatConversation:
    plain = (
        "id", "title", "system_prompt", "created_at", "updated_at", "seq", "message_count", "last_at", "input_tokens",
        "output_tokens",
    )  # fmt: skip
    return ChatConversation(
        **{name: row[name] for name in plain},
        chosen_model=row["model"],
        is_generating=bool(row["is_generating"]),
        last_role=row["last_role"] or USER,
        last_text=row["last_text"] or "",
        answered_by=row["answered_by"] or "",
        provider=row["provider"] or "",
    )


def find_conversation(connection: sqlite3.Connection, conversation_id: str) -> ChatConversation:
    """Return a conversation; raises UnknownConversationError."""
    row = connection.execute(f"{CONVERSATIONS} WHERE c.id = ?", [conversation_id]).fetchone()
    if row is None:
        raise unknown_conversation(conversation_id)
    return to_conversation(row)


def to_message(row: sqlite3.Row) -> ChatMessage:
    plain = (
        "id", "conversation_id", "role", "content", "seq", "created_at", "finished_at", "model", "provider",
        "input_tokens", "output_tokens", "client_message_id",
    )  # fmt: skip
    return ChatMessage(
        **{name: row[name] for name in plain},
        status=MessageStatus(row["status"]),
        truncated=bool(row["truncated"]),
        error=None if row["error"] is None else json.loads(row["error"]),
        attachments=tuple(AttachmentInfo(**each) for each in json.loads(row["attachments"])),
    )


def find_message(connection: sqlite3.Connection, message_id: str) -> ChatMessage:
    """Return a message; raises UnknownConversationError."""
    row = connection.execute("SELECT * FROM chat_messages WHERE id = ?", [message_id]).fetchone()
    if row is None:
        raise UnknownConversationError(f"unknown message: {message_id[:60]!r}", hint="read the conversation again")
    return to_message(row)


def add_message_event(connection: sqlite3.Connection, event: str, message_id: str, now: float) -> ChatMessage:
    """Add an event with the current state of a message, and return the message."""
    message = find_message(connection, message_id)
    seq = next_number(connection, message.conversation_id)
    connection.execute("UPDATE chat_messages SET seq = ? WHERE id = ?", [seq, message_id])
    message = find_message(connection, message_id)
    add_event(connection, message.conversation_id, seq, event, {"message": to_json(message)}, now)
    return message


def add_conversation_event(connection: sqlite3.Connection, conversation_id: str, now: float) -> None:
    """Add an event with the current state of a conversation."""
    seq = next_number(connection, conversation_id)
    data = {"conversation": to_json(find_conversation(connection, conversation_id))}
    add_event(connection, conversation_id, seq, "conversation.updated", data, now)


def next_number(connection: sqlite3.Connection, conversation_id: str) -> int:
    """Return the number of the next event of a conversation; raises UnknownConversationError."""
    sql = "UPDATE chat_conversations SET seq = seq + 1 WHERE id = ? RETURNING seq"
    found = connection.execute(sql, [conversation_id]).fetchall()
    if not found:
        raise unknown_conversation(conversation_id)
    return int(found[0]["seq"])


def add_event(
    connection: sqlite3.Connection, conversation_id: str, seq: int, event: str, data: Mapping[str, Any], now: float
) -> None:
    """Add an event, and delete old events of the conversation."""
    row = [conversation_id, seq, event, json.dumps(data), now]
    connection.execute("INSERT INTO chat_events VALUES (?, ?, ?, ?, ?)", row)
    if seq % _TIDY_EVERY == 0:
        sql = "DELETE FROM chat_events WHERE conversation_id = ? AND seq <= ?"
        connection.execute(sql, [conversation_id, seq - KEEP_EVENTS])
