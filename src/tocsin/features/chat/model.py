"""Conversations, their messages, and the files that belong to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, TypedDict

from tocsin.core.errors import ConflictError, NotFoundError, TocsinError
from tocsin.core.records.marks import Converted, Private, TextOrNull, Time, after
from tocsin.core.text.strings import truncate
from tocsin.core.text.visible import one_line

MAX_TITLE, MAX_MESSAGE, MAX_PROMPT = 100, 100_000, 20_000  # characters
MAX_ATTACHMENTS = 10
PREVIEW_CHARS = 200
NEW_TITLE = "New conversation"
OWN: Final = "dashboard"  # the source of conversations of the dashboard
USER: Final = "user"
ASSISTANT: Final = "assistant"

Role = Literal["user", "assistant"]


class UnknownConversationError(NotFoundError):
    """The conversation, message or attachment does not exist."""


class ConversationBusyError(ConflictError):
    """An answer is in progress, or the conversation belongs to the bot."""


class MessageReusedError(TocsinError):
    """The message ID from the client belongs to another message."""

    code = "idempotency-key-reused"


class TooManyAnswersError(TocsinError):
    """This process already writes the maximum number of answers."""

    code = "too-many-requests"


class ModelMissingError(TocsinError):
    """No chat model is available."""

    code = "not-ready"


class InvalidMessageError(TocsinError):
    """A message cannot be sent to the model."""

    code = "validation-failed"


class MessageStatus(StrEnum):
    """The state of a message."""

    PENDING = "pending"  # nothing of the answer is there
    STREAMING = "streaming"
    COMPLETE = "complete"
    STOPPED = "stopped"  # by a person; what was written stays
    FAILED = "failed"


INTERRUPTED: Mapping[str, str] = {"code": "interrupted", "message": "Tocsin was killed or crashed during the answer"}


@dataclass(frozen=True, slots=True)
class AttachmentInfo:
    """File attached to a message."""

    schema_name: ClassVar[str] = "AttachmentRecord"

    id: str
    name: str
    kind: Literal["picture", "document"]
    media_type: str
    bytes: Annotated[int, "Of the file that was given."]
    is_cut: Private[bool] = False

    @property
    @after("bytes")
    def truncated(self) -> bool:
        """Whether only the beginning is sent to the model."""
        return self.is_cut


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """The content of a file for a chat model: an image, or the text of a document."""

    info: AttachmentInfo
    text: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Token usage of an answer or a conversation."""

    schema_name: ClassVar[str] = "UsageRecord"

    input_tokens: int
    output_tokens: int


class MessageError(TypedDict):
    """Why there is no answer, or only a part of one."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message."""

    schema_name: ClassVar[str] = "MessageRecord"

    id: str
    conversation_id: str
    role: Role
    content: str
    status: MessageStatus = MessageStatus.COMPLETE
    seq: Annotated[int, "Number of the last event that changed the message."] = 0
    created_at: Time | None = None
    finished_at: Time | None = None
    model: TextOrNull = ""
    provider: TextOrNull = ""
    input_tokens: Private[int] = 0
    output_tokens: Private[int] = 0
    truncated: Annotated[bool, "Whether the answer was cut off at the length limit of the model."] = False
    error: Annotated[Mapping[str, str], Converted(dict, MessageError)] | None = None
    attachments: Sequence[AttachmentInfo] = ()
    client_message_id: TextOrNull = ""

    @property
    @after("provider")
    def usage(self) -> ModelUsage:
        """Token usage of the answer."""
        return ModelUsage(self.input_tokens, self.output_tokens)


@dataclass(frozen=True, slots=True)
class LastMessage:
    """The last message of a conversation."""

    role: Role
    preview: Annotated[str, "Its beginning in one line."]
    at: Time | None


@dataclass(frozen=True, slots=True)
class ChatConversation:
    """A conversation."""

    schema_name: ClassVar[str] = "ConversationRecord"

    id: str
    title: Annotated[str, Converted(lambda title: title or NEW_TITLE, str)]
    created_at: Time | None = None
    updated_at: Time | None = None
    message_count: int = 0
    chosen_model: Private[str] = ""  # empty: CHAT_MODEL
    answered_by: Private[str] = ""  # the model of the last answer
    provider: Annotated[TextOrNull, "That of the last answer."] = ""
    system_prompt: str = ""
    source: Annotated[str, "`dashboard`, or the bot's channel; conversations of the bot are read-only."] = OWN
    seq: Private[int] = 0  # of its last event
    is_generating: Private[bool] = False
    last_role: Private[Role] = USER
    last_text: Private[str] = ""
    last_at: Private[float | None] = None
    input_tokens: Private[int] = 0
    output_tokens: Private[int] = 0

    @property
    @after("message_count")
    def model(self) -> str | None:
        """The model that was chosen, or else that of the last answer."""
        return self.chosen_model or self.answered_by or None

    @property
    @after("source")
    def status(self) -> Literal["idle", "generating"]:
        """Whether an answer is in progress."""
        return "generating" if self.is_generating else "idle"

    @property
    @after("source")
    def last_message(self) -> LastMessage | None:
        """The newest message, if there is one."""
        return LastMessage(self.last_role, preview(self.last_text), self.last_at) if self.message_count else None

    @property
    @after("source")
    def usage(self) -> ModelUsage:
        """Token usage of all answers."""
        return ModelUsage(self.input_tokens, self.output_tokens)


def preview(text: str) -> str:
    """Return the beginning of a text in one line."""
    return truncate(one_line(text.strip()), PREVIEW_CHARS)


def make_title(text: str) -> str:
    """Return the title of a conversation that begins with `text`."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return truncate(one_line(first.strip()), 60) or NEW_TITLE


def unknown_conversation(conversation_id: str) -> UnknownConversationError:
    return UnknownConversationError(f"unknown conversation: {conversation_id[:60]!r}", hint="it may have been deleted")
