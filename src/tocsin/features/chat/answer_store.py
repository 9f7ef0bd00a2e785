"""The tables of chat for answers in progress: the text grows, and each piece is an event."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.chat import rows
from tocsin.features.chat.model import INTERRUPTED, ChatMessage, MessageStatus

SILENCE_S = 60.0  # an owner on another machine without a heartbeat for this long counts as dead


class AnswerEnd(NamedTuple):
    """How an answer ended; `content` replaces the streamed text, unless it is `None`."""

    status: MessageStatus
    content: str | None = None
    model: str = ""
    provider: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False
    error: Mapping[str, str] | None = None


class AnswerStore:
    """The answers in progress, each owned by one process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @writes
    def add_text(
        self, connection: sqlite3.Connection, message_id: str, owner: str, text: str, now: float, *, anew: bool = False
    ) -> bool:
        """Append a piece to an answer, or restart it with `anew`, and record a heartbeat; return True to continue.

        False if a person stopped the answer, if it was deleted, or if another process owns it.
        """
        row = _owned(connection, message_id, owner)
        if row is None:
            return False
        if anew:
            connection.execute("UPDATE chat_messages SET content = '' WHERE id = ?", [message_id])
            rows.add_message_event(connection, "message.created", message_id, now)
        if text:
            seq = rows.next_number(connection, row["conversation_id"])
            connection.execute(_ADD_TEXT, [text, seq, now, message_id])
            data = {"message_id": message_id, "seq": seq, "text": text}
            rows.add_event(connection, row["conversation_id"], seq, "message.delta", data, now)
        else:
            connection.execute("UPDATE chat_messages SET beat_at = ? WHERE id = ?", [now, message_id])
        return not row["stop_asked"]

    @reads
    def may_continue(self, connection: sqlite3.Connection, message_id: str, owner: str) -> bool:
        """Return True if the owner still owns the answer and it was not stopped."""
        row = _owned(connection, message_id, owner)
        return row is not None and not row["stop_asked"]

    @writes
    def finish(self, connection: sqlite3.Connection, message_id: str, owner: str, end: AnswerEnd, now: float) -> None:
        """Record the end of an answer, once."""
        if _owned(connection, message_id, owner) is not None:
            _finish(connection, message_id, end, now)

    @writes
    def ask_to_stop(self, connection: sqlite3.Connection, conversation_id: str) -> ChatMessage | None:
        """Ask the process that writes an answer in a conversation to stop; return the answer, if there is one."""
        rows.find_conversation(connection, conversation_id)
        row = connection.execute(_WRITTEN, [conversation_id]).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE chat_messages SET stop_asked = 1 WHERE id = ?", [row["id"]])
        return rows.to_message(row)

    async def interrupt(self, is_dead: Callable[[str, str, float], bool], now: float) -> int:
        """End the answers whose owner has ended; return how many.

        `is_dead` is called with the ID of the answer, its owner, and the seconds since the last heartbeat.
        """

        def left(connection: sqlite3.Connection) -> list[str]:
            found = connection.execute(_ALL_WRITTEN).fetchall()
            return [row["id"] for row in found if is_dead(row["id"], row["owner"], now - row["beat_at"])]

        if not await self._database.read(left):
            return 0

        def work(connection: sqlite3.Connection) -> int:
            ids = left(connection)
            for message_id in ids:
                _finish(connection, message_id, AnswerEnd(MessageStatus.FAILED, error=INTERRUPTED), now)
            return len(ids)

        return await self._database.write(work)


_WRITTEN = "SELECT * FROM chat_messages WHERE conversation_id = ? AND status IN ('pending', 'streaming')"
_ALL_WRITTEN = "SELECT id, owner, beat_at FROM chat_messages WHERE status IN ('pending', 'streaming')"
_ADD_TEXT = "UPDATE chat_messages SET content = content || ?, status = 'streaming', seq = ?, beat_at = ? WHERE id = ?"
_FINISH = """
    UPDATE chat_messages SET status = ?, content = COALESCE(?, content), model = ?, provider = ?, input_tokens = ?,
        output_tokens = ?, truncated = ?, error = ?, finished_at = ?, owner = ''
    WHERE id = ?
"""


def _owned(connection: sqlite3.Connection, message_id: str, owner: str) -> sqlite3.Row | None:
    sql = "SELECT * FROM chat_messages WHERE id = ? AND owner = ? AND status IN ('pending', 'streaming')"
    row: sqlite3.Row | None = connection.execute(sql, [message_id, owner]).fetchone()
    return row


def _finish(connection: sqlite3.Connection, message_id: str, end: AnswerEnd, now: float) -> None:
    error = None if end.error is None else json.dumps(dict(end.error))
    named = (end.model, end.provider, end.input_tokens, end.output_tokens, end.truncated)
    connection.execute(_FINISH, [end.status, end.content, *named, error, now, message_id])
    message = rows.find_message(connection, message_id)
    if end.status is MessageStatus.FAILED:
        seq = rows.next_number(connection, message.conversation_id)
        connection.execute("UPDATE chat_messages SET seq = ? WHERE id = ?", [seq, message_id])
        data = {"message_id": message_id, "error": dict(end.error or {})}
        rows.add_event(connection, message.conversation_id, seq, "message.failed", data, now)
    else:
        rows.add_message_event(connection, "message.completed", message_id, now)
    sql = "UPDATE chat_conversations SET updated_at = ? WHERE id = ?"
    connection.execute(sql, [now, message.conversation_id])
    rows.add_conversation_event(connection, message.conversation_id, now)
