"""Conversations, their messages, and the files that belong to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import truncate
from tocsin.core.text.visible import one_line
from tocsin.core.time.timestamps import timestamp

MAX_TITLE, MAX_MESSAGE, MAX_PROMPT = 100, 100_000, 20_000  # characters
MAX_ATTACHMENTS = 10
PREVIEW_CHARS = 200
NEW_TITLE = "New conversation"
OWN: Final = "dashboard"  # the source of conversations that are held here
USER: Final = "user"
ASSISTANT: Final = "assistant"

Role = Literal["user", "assistant"]


class UnknownConversationError(TocsinError):
    """There is no such conversation, message or attachment."""

    code = "not-found"


class ConversationBusyError(TocsinError):
    """An answer is being written, or the conversation belongs to the bot."""

    code = "conflict"


class MessageReusedError(TocsinError):
    """The ID that a client gave a message belongs to another one."""

    code = "idempotency-key-reused"


class TooManyAnswersError(TocsinError):
    """This process writes as many answers as it may at the same time."""

    code = "too-many-requests"


class ModelMissingError(TocsinError):
    """No chat model can be asked."""

    code = "not-ready"


class InvalidMessageError(TocsinError):
    """A message cannot be put to the model as it is."""

    code = "validation-failed"


class MessageStatus(StrEnum):
    """How far a message is."""

    PENDING = "pending"  # nothing of the answer is there
    STREAMING = "streaming"
    COMPLETE = "complete"
    STOPPED = "stopped"  # by a person; what was written stays
    FAILED = "failed"


AT_WORK = frozenset({MessageStatus.PENDING, MessageStatus.STREAMING})
INTERRUPTED: Mapping[str, str] = {"code": "interrupted", "message": "Tocsin was killed or crashed while it was written"}


@dataclass(frozen=True, slots=True)
class AttachmentInfo:
    """A file that belongs to a message."""

    id: str
    name: str
    kind: str  # picture or document
    media_type: str
    bytes: int  # of the file that was given
    is_cut: bool = False  # the model is shown only the beginning of the document

    def as_document(self) -> dict[str, object]:
        """Return the record as a dictionary."""
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "media_type": self.media_type,
            "bytes": self.bytes,
            "truncated": self.is_cut,
        }


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """What a chat model is shown of a file: a picture, or the text of a document."""

    info: AttachmentInfo
    text: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message. Times are Unix seconds."""

    id: str
    conversation_id: str
    role: Role
    content: str
    status: MessageStatus = MessageStatus.COMPLETE
    seq: int = 0  # of the last event that changed it
    created_at: float | None = None
    finished_at: float | None = None
    model: str = ""
    provider: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False  # by the model's limit for one answer
    error: Mapping[str, str] | None = None
    attachments: Sequence[AttachmentInfo] = ()
    client_message_id: str = ""

    def as_document(self) -> dict[str, Any]:
        """Return the record as the interfaces show it."""
        return {
            "id": self.id,
            "conversation_id": self.conversation_id,
            "role": self.role,
            "content": self.content,
            "status": str(self.status),
            "seq": self.seq,
            "created_at": timestamp(self.created_at),
            "finished_at": timestamp(self.finished_at),
            "model": self.model or None,
            "provider": self.provider or None,
            "usage": {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
            "truncated": self.truncated,
            "error": None if self.error is None else dict(self.error),
            "attachments": [each.as_document() for each in self.attachments],
            "client_message_id": self.client_message_id or None,
        }


@dataclass(frozen=True, slots=True)
class ChatConversation:
    """A conversation, and what lists show of its messages."""

    id: str
    title: str
    source: str = OWN  # or the kind of the channel of the bot
    system_prompt: str = ""
    model: str = ""  # empty: CHAT_MODEL
    created_at: float | None = None
    updated_at: float | None = None
    seq: int = 0  # of its last event
    message_count: int = 0
    is_generating: bool = False
    last_role: str = ""
    last_text: str = ""
    last_at: float | None = None
    answered_by: str = ""  # the model and provider of the last answer
    provider: str = ""
    input_tokens: int = 0
    output_tokens: int = 0

    def as_document(self) -> dict[str, Any]:
        """Return the record as the interfaces show it."""
        last = {"role": self.last_role, "preview": preview(self.last_text), "at": timestamp(self.last_at)}
        return {
            "id": self.id,
            "title": self.title or NEW_TITLE,
            "created_at": timestamp(self.created_at),
            "updated_at": timestamp(self.updated_at),
            "message_count": self.message_count,
            "model": self.model or self.answered_by or None,
            "provider": self.provider or None,
            "system_prompt": self.system_prompt,
            "source": self.source,
            "status": "generating" if self.is_generating else "idle",
            "last_message": last if self.message_count else None,
            "usage": {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
        }


def preview(text: str) -> str:
    """Return the beginning of a text in one line."""
    return truncate(one_line(text.strip()), PREVIEW_CHARS)


def title_of(text: str) -> str:
    """Return what a conversation that begins with `text` is called."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return truncate(one_line(first.strip()), 60) or NEW_TITLE


def unknown_conversation(conversation_id: str) -> UnknownConversationError:
    """Return the error about an ID that no conversation has."""
    return UnknownConversationError(f"there is no conversation {conversation_id[:60]!r}", hint="it may be deleted")
