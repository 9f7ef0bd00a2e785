"""The tables of chat, shared by all processes."""

import json
import re
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar, NamedTuple

from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.records.marks import Flat, after
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.chat import rows
from tocsin.features.chat.model import (
    ASSISTANT,
    USER,
    AttachmentContent,
    AttachmentInfo,
    ChatConversation,
    ChatMessage,
    ConversationBusyError,
    MessageReusedError,
    MessageStatus,
    UnknownConversationError,
    make_title,
)

MAX_PAGE = 200
_UNUSED_S = 24 * 3600.0  # a file without a message


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation and its messages, the oldest first."""

    schema_name: ClassVar[str] = "TranscriptRecord"

    conversation: Flat[ChatConversation]
    messages: Sequence[ChatMessage]
    has_earlier: Annotated[bool, "Whether earlier messages exist; request them with `before`."] = False

    @property
    @after("has_earlier")
    def last_event_id(self) -> str:
        """Events after this one are not in the messages."""
        return f"{self.conversation.id}:{self.conversation.seq}"


class ChatEvents(NamedTuple):
    """Events of a conversation by number: name and JSON data. `end` is the last number; `None` if it was deleted."""

    events: Sequence[tuple[int, str, str]]
    end: int | None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message of a person that is to be answered."""

    content: str
    conversation_id: str = ""  # empty: a new conversation
    client_message_id: str = ""
    model: str = ""
    replaces: str = ""  # the message of the person that it replaces; all later messages are deleted
    attachments: Sequence[str] = ()


class BegunAnswer(NamedTuple):
    """A question and its pending answer; `is_new` is False if the client had sent it before."""

    question: ChatMessage
    answer: ChatMessage
    is_new: bool
    replaced: int = 0


class ChatStore:
    """The conversations of a data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @writes
    def create(
        self, connection: sqlite3.Connection, title: str, system_prompt: str, model: str, now: float
    ) -> ChatConversation:
        id_ = _create(connection, title, system_prompt, model, now)
        return rows.find_conversation(connection, id_)

    async def search(self, text: str, limit: int, cursor: str) -> ListPage[ChatConversation]:
        """Return the conversations with a text in title or messages; `cursor` comes from the previous page."""
        limit = max(1, min(limit, MAX_PAGE))
        values = {"text": text.lower(), "limit": limit + 1, "at": 2.0**62, "id": ""}
        if found := re.fullmatch(r"([0-9.e+]{1,30}) ([0-9a-f-]{36})", cursor):
            values |= {"at": float(found[1]), "id": found[2]}

        def work(connection: sqlite3.Connection) -> ListPage[ChatConversation]:
            page = connection.execute(_SEARCH, values).fetchall()
            total = connection.execute(_COUNT, values).fetchone()[0]
            items = [rows.to_conversation(row) for row in page[:limit]]
            last = items[-1] if len(page) > limit else None
            return ListPage(items, f"{last.updated_at!r} {last.id}" if last else None, total)

        return await self._database.read(work)

    async def several(self, ids: Sequence[str]) -> list[ChatConversation]:
        """Return the existing conversations with these IDs."""
        sql = f"{rows.CONVERSATIONS} WHERE c.id IN ({', '.join('?' * len(ids))})"

        return await self._database.read(lambda c: [rows.to_conversation(row) for row in c.execute(sql, ids)])

    @reads
    def transcript(
        self, connection: sqlite3.Connection, conversation_id: str, limit: int, before: str = ""
    ) -> Transcript:
        """Return a conversation with its last messages, or the last before one; raises UnknownConversationError."""
        connection.execute("BEGIN")  # all reads see the state at one event number
        try:
            conversation = rows.find_conversation(connection, conversation_id)
            place = _place(connection, conversation_id, before) if before else 2**62
            found = connection.execute(_MESSAGES, [conversation_id, place, limit + 1]).fetchall()
        finally:
            connection.execute("COMMIT")
        messages = [rows.to_message(row) for row in reversed(found[:limit])]
        return Transcript(conversation, messages, len(found) > limit)

    @writes
    def delete(self, connection: sqlite3.Connection, conversation_id: str) -> None:
        """Delete a conversation with its messages, events and files; raises UnknownConversationError."""
        rows.find_conversation(connection, conversation_id)
        for sql in _DELETE:
            connection.execute(sql, [conversation_id])

    async def begin(self, draft: MessageDraft, owner: str, now: float) -> BegunAnswer:
        """Record a question and its pending answer, which `owner` writes.

        Raises UnknownConversationError, ConversationBusyError, MessageReusedError.
        """
        return await self._database.write(lambda connection: _begin(connection, draft, owner, now))

    async def add_attachment(self, content: AttachmentContent, now: float) -> None:
        """Store a file for a later message."""
        info = content.info
        row = [info.id, info.name, info.kind, info.media_type, info.bytes, content.text, info.is_cut, content.data, now]

        await self._database.execute("INSERT INTO chat_attachments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')", row)

    @reads
    def attachments(self, connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, AttachmentContent]:
        """Return the contents of files by ID."""
        sql = f"SELECT * FROM chat_attachments WHERE id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks only
        found = connection.execute(sql, list(ids))
        return {row["id"]: AttachmentContent(_info(row), row["text"], row["data"]) for row in found}

    @reads
    def events(self, connection: sqlite3.Connection, conversation_id: str, after: int) -> ChatEvents:
        connection.execute("BEGIN")  # both statements see the same rows
        try:
            found = connection.execute(_EVENTS, [conversation_id, after]).fetchall()
            row = connection.execute(_END, [conversation_id]).fetchone()
        finally:
            connection.execute("COMMIT")
        if row is None:
            return ChatEvents((), None)
        complete = found[0]["seq"] == after + 1 if found else row["seq"] == after
        return ChatEvents([(each["seq"], each["event"], each["data"]) for each in found], row["seq"], complete)

    @reads
    def before_question(self, connection: sqlite3.Connection, conversation_id: str) -> int | None:
        """Return the number before the events of the last question; `None` if they were pruned."""
        row = connection.execute(_QUESTION, [conversation_id, USER]).fetchone()
        return None if row is None else int(row["seq"]) - 1

    @writes
    def prune(self, connection: sqlite3.Connection, now: float) -> None:
        """Delete old events, and files without a message."""
        connection.execute("DELETE FROM chat_events WHERE at < ?", [now - rows.KEEP_EVENTS_S])
        sql = "DELETE FROM chat_attachments WHERE message_id = '' AND created_at < ?"
        connection.execute(sql, [now - _UNUSED_S])


_MATCHES = """
    (:text = '' OR instr(lower(c.title), :text) OR EXISTS (
        SELECT 1 FROM chat_messages WHERE conversation_id = c.id AND instr(lower(content), :text)))
"""
_SEARCH = f"""
    {rows.CONVERSATIONS} WHERE {_MATCHES} AND (c.updated_at, c.id) < (:at, :id)
    ORDER BY c.updated_at DESC, c.id DESC LIMIT :limit
"""
_COUNT = f"SELECT COUNT(*) FROM chat_conversations c WHERE {_MATCHES}"  # noqa: S608  # our own words
_AFTER = "SELECT * FROM chat_messages WHERE conversation_id = ? AND place > ? ORDER BY place LIMIT 1"
_MESSAGES = "SELECT * FROM chat_messages WHERE conversation_id = ? AND place < ? ORDER BY place DESC LIMIT ?"
_END = "SELECT seq FROM chat_conversations WHERE id = ?"
_EVENTS = "SELECT seq, event, data FROM chat_events WHERE conversation_id = ? AND seq > ? ORDER BY seq"
# A person's text never changes: the number of a question is the number of the event that added it.
_QUESTION = """
    SELECT m.seq FROM chat_messages m JOIN chat_events e ON e.conversation_id = m.conversation_id AND e.seq = m.seq
    WHERE m.conversation_id = ? AND m.role = ? ORDER BY m.place DESC LIMIT 1
"""
_DELETE = (
    "DELETE FROM chat_attachments WHERE message_id IN (SELECT id FROM chat_messages WHERE conversation_id = ?)",
    "DELETE FROM chat_messages WHERE conversation_id = ?",
    "DELETE FROM chat_events WHERE conversation_id = ?",
    "DELETE FROM chat_conversations WHERE id = ?",
)
_DELETE_FILES_AFTER = """
    DELETE FROM chat_attachments
    WHERE message_id IN (SELECT id FROM chat_messages WHERE conversation_id = ? AND place > ?)
"""
_ADD_MESSAGE = """
    INSERT INTO chat_messages (id, conversation_id, place, role, content, status, seq, created_at, finished_at,
        attachments, client_message_id, owner, beat_at)
    VALUES (:id, :conversation, (SELECT COALESCE(MAX(place), 0) + 1 FROM chat_messages
        WHERE conversation_id = :conversation), :role, :content, :status, 0, :now, :finished, :attachments,
        :client_message_id, :owner, :now)
"""


def _create(connection: sqlite3.Connection, title: str, system_prompt: str, model: str, now: float) -> str:
    id_ = new_id()
    sql = "INSERT INTO chat_conversations VALUES (?, ?, ?, ?, ?, ?, 0)"
    connection.execute(sql, [id_, title, system_prompt, model, now, now])
    return id_


def _begin(connection: sqlite3.Connection, draft: MessageDraft, owner: str, now: float) -> BegunAnswer:
    if draft.client_message_id and (known := _sent_before(connection, draft)):
        return known
    conversation_id = draft.conversation_id or _create(connection, make_title(draft.content), "", draft.model, now)
    conversation = rows.find_conversation(connection, conversation_id)
    if conversation.is_generating:
        raise ConversationBusyError("an answer is in progress in this conversation", hint="wait, or stop it")
    replaced = _remove_from(connection, conversation_id, draft.replaces, now) if draft.replaces else 0
    if not conversation.title:
        sql = "UPDATE chat_conversations SET title = ? WHERE id = ?"
        connection.execute(sql, [make_title(draft.content), conversation_id])
    sql = "UPDATE chat_conversations SET updated_at = ?, model = CASE ? WHEN '' THEN model ELSE ? END WHERE id = ?"
    connection.execute(sql, [now, draft.model, draft.model, conversation_id])
    question_id, answer_id = new_id(), new_id()
    values = {"conversation": conversation_id, "now": now}
    attachments = json.dumps([asdict(_take(connection, each, question_id)) for each in draft.attachments])
    question = {"id": question_id, "role": USER, "content": draft.content, "status": MessageStatus.COMPLETE}
    written = {"finished": now, "attachments": attachments, "client_message_id": draft.client_message_id, "owner": ""}
    connection.execute(_ADD_MESSAGE, {**values, **question, **written})
    answer = {"id": answer_id, "role": ASSISTANT, "content": "", "status": MessageStatus.PENDING}
    to_come = {"finished": None, "attachments": "[]", "client_message_id": "", "owner": owner}
    connection.execute(_ADD_MESSAGE, {**values, **answer, **to_come})
    told = [rows.add_message_event(connection, "message.created", each, now) for each in (question_id, answer_id)]
    rows.add_conversation_event(connection, conversation_id, now)
    return BegunAnswer(told[0], told[1], True, replaced)


def _sent_before(connection: sqlite3.Connection, draft: MessageDraft) -> BegunAnswer | None:
    """Return the question that the client has sent before, with its answer."""
    sql = "SELECT * FROM chat_messages WHERE client_message_id = ?"
    row = connection.execute(sql, [draft.client_message_id]).fetchone()
    if row is None:
        return None
    question = rows.to_message(row)
    same = draft.conversation_id in {"", question.conversation_id} and draft.content == question.content
    answer = connection.execute(_AFTER, [question.conversation_id, row["place"]]).fetchone()
    if not same or answer is None:
        raise MessageReusedError(
            "this client_message_id was already used for another message", hint="use a new one for each message"
        )
    return BegunAnswer(question, rows.to_message(answer), False)


def _remove_from(connection: sqlite3.Connection, conversation_id: str, message_id: str, now: float) -> int:
    """Delete a message of the person and all that follow; return how many."""
    place = _place(connection, conversation_id, message_id)
    if rows.find_message(connection, message_id).role != USER:
        raise UnknownConversationError(f"{message_id} is an answer", hint="give the question before it")
    # Its files may be sent again with the replacing message.
    connection.execute("UPDATE chat_attachments SET message_id = '' WHERE message_id = ?", [message_id])
    connection.execute(_DELETE_FILES_AFTER, [conversation_id, place])
    sql = "DELETE FROM chat_messages WHERE conversation_id = ? AND place >= ?"
    removed = connection.execute(sql, [conversation_id, place]).rowcount
    # Open pages read the conversation again.
    rows.add_event(connection, conversation_id, rows.next_number(connection, conversation_id), "resync", {}, now)
    return removed


def _take(connection: sqlite3.Connection, attachment_id: str, message_id: str) -> AttachmentInfo:
    """Attach a file to a message."""
    sql = "SELECT * FROM chat_attachments WHERE id = ? AND message_id = ''"
    row = connection.execute(sql, [attachment_id]).fetchone()
    if row is None:
        raise UnknownConversationError(
            f"file {attachment_id[:60]!r} is not available for a message",
            hint="it was already sent or has expired: upload it again",
        )
    connection.execute("UPDATE chat_attachments SET message_id = ? WHERE id = ?", [message_id, attachment_id])
    return _info(row)


def _info(row: sqlite3.Row) -> AttachmentInfo:
    names = ("id", "name", "kind", "media_type", "bytes")
    return AttachmentInfo(**{name: row[name] for name in names}, is_cut=bool(row["is_cut"]))


def _place(connection: sqlite3.Connection, conversation_id: str, message_id: str) -> int:
    """Return the position of a message in a conversation; raises UnknownConversationError."""
    sql = "SELECT place FROM chat_messages WHERE id = ? AND conversation_id = ?"
    row = connection.execute(sql, [message_id, conversation_id]).fetchone()
    if row is None:
        raise UnknownConversationError(
            f"message {message_id[:60]!r} is not in this conversation", hint="read the conversation again"
        )
    return int(row["place"])
