"""The records of the operations on channels and profiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tocsin.channels.content import MAX_TITLE, Content, make_content
from tocsin.channels.contract import NO_CONTENT, SendResult
from tocsin.channels.dressing import FieldPlan, FilePlan, PartPlan
from tocsin.channels.model import parse_mode_of
from tocsin.core.errors import ChannelError
from tocsin.core.reading.fields import TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Time
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.web.http.bodies import refuse_field


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilitiesRecord:
    """Capabilities of a channel."""

    inbound: Literal["none", "polling", "webhook"]
    max_length: int | None
    unit: Annotated[Literal["characters", "UTF-16 units", "bytes"], "What `max_length` and `chunk_at` count."]
    chunk_at: int | None
    parse_modes: list[str]
    markdown: bool
    edits: Annotated[bool, "A later message with the same key edits the first one."]
    withdraws: Annotated[bool, "A message with a key can be deleted."]
    session_presses: Annotated[bool, "Its `call` buttons are pressed by people who are signed in to the dashboard."]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTestRecord:
    """Last test of the credentials of a channel."""

    ok: bool
    at: Time
    message: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRecord:
    """Channel, configured or not."""

    channel: str
    label: str
    configured: bool
    available: Annotated[bool, "Whether the channel is available on this platform."]
    missing: Annotated[list[str], "Required settings."]
    capabilities: CapabilitiesRecord
    default_target: str | None
    state: Literal["unconfigured", "configured", "ok", "failing"]
    last_test: LastTestRecord | None
    last_sent_at: Time | None
    sent_24h: int
    failed_24h: int
    retry_after_until: Annotated[Time | None, "Time until which the provider limits the account."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelList:
    """All channels."""

    items: list[ChannelRecord]
    max_files_bytes: Annotated[int, "What the files of one message may have together (`MAX_FILES_MB`)."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTarget:
    """Target of a profile."""

    channel: str
    target: str
    usable: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileError:
    """Error in a file."""

    line: int
    key: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileUseRecord:
    """Job, rule or setting that sends to a profile."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRecord:
    """Notification profile."""

    name: str
    entries: list[ProfileTarget]
    valid: bool
    errors: list[FileError]
    used_by: list[ProfileUseRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileList:
    """All profiles."""

    items: list[ProfileRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageBody(RequestBody, Content):
    """The fields of a message besides its text, and how the text is parsed."""

    format: Annotated[str, text(20), "`plain`, `markdown`, `native`, or one of the `parse_modes` of the channel."] = ""
    parse_mode: Annotated[str, text(20), "Alias of `format`."] = ""

    @property
    def mode(self) -> str:
        """The parse mode of the text; raises HttpProblemError if the fields differ."""
        try:
            return parse_mode_of(self.format, self.parse_mode)
        except ChannelError as error:
            refuse_field("parse_mode", "conflict", error.sentence())

    @property
    def content(self) -> Mapping[str, Any]:
        """The content, as a message takes it."""
        return self._content({})

    def _content(self, others: Mapping[str, Any]) -> Mapping[str, Any]:
        given = {name: value for name, value in self.values().items() if name in self.given}
        found = make_content({**others, **given})
        return found.as_stored() if found else NO_CONTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage(MessageBody):
    """Message to send."""

    channel: Annotated[str, Written(TextType(max_chars=100))]
    target: Annotated[str, Written(TextType(max_chars=500))]
    message: Annotated[str, Written(TextType(True, 400_000), examples=("The backup has finished",))]
    subject: Annotated[str, text(500), "Alias of `title`."] = ""
    queue: Annotated[bool, FLAG, "Queue the message durably instead of sending it now."] = False
    dry_run: Annotated[bool, FLAG, "Only return the parts that would be sent."] = False

    @property
    def content(self) -> Mapping[str, Any]:
        """The content, with `subject` as its title."""
        title = " ".join(self.subject.split())
        return self._content({"title": title} if 0 < len(title) <= MAX_TITLE else {})

    @property
    def said(self) -> str:
        """The text, below a subject that is too long for a title."""
        return self.message if len(" ".join(self.subject.split())) <= MAX_TITLE else f"{self.subject}\n{self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage(SendResult):
    """Result of one message."""

    message_id: str | None = None
    code: str | None = None
    attempts: int = 0
    parts: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Messages that would be sent."""

    parts: list[PartPlan]
    warnings: list[str]
    fields: Annotated[list[FieldPlan], "How each field is rendered: native, degraded or ignored."]
    files: list[FilePlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPlan(DryRun):
    """The preview of a message for one target; `error` says why it would be refused."""

    channel: str
    target: str
    error: str
    skipped: Annotated[str, "Why the profile leaves this target out; empty if it does not."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """The previews of a message for each target of a profile."""

    profile: str
    plans: list[TargetPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """Queued message."""

    id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMessage(MessageBody):
    """Message for every target of a profile."""

    message: Annotated[str, Written(TextType(True, 400_000))]
    dry_run: Annotated[bool, FLAG, "Only return what the message would become for each target."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileResult:
    """Result of sending to a profile."""

    profile: str
    ok: bool
    sent: int
    failed: int
    results: list[SendResult]


# The answer is a send result whenever a channel was called.
OUTCOMES: dict[int | str, dict[str, Any]] = {
    404: {
        "model": SentMessage,
        "description": "The channel is unknown or not configured. For other causes, a problem document.",
    },
    422: {"model": SentMessage, "description": "Retrying cannot help. For an invalid body, a problem document."},
    502: {"model": SentMessage, "description": "No part was sent. Retrying may help."},
    503: {
        "model": SentMessage,
        "description": "The provider limits the account. `Retry-After` contains the seconds to wait.",
    },
    504: {
        "model": SentMessage,
        "description": "The message may have been sent. Repeat the request only with the same Idempotency-Key.",
    },
}
FAN_OUT: dict[int | str, dict[str, Any]] = {
    202: {"model": ProfileResult, "description": "The message was queued for at least one target."},
    207: {"model": ProfileResult, "description": "Some targets received the message."},
    422: {"model": ProfileResult, "description": "No target received the message. Retrying cannot help."},
    502: {"model": ProfileResult, "description": "No target received the message. Retrying may help."},
}
