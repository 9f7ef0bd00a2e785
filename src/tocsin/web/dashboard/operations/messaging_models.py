"""The records of the operations on channels and profiles."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tocsin.channels.contract import SendResult
from tocsin.core.reading.fields import TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Time
from tocsin.rest.bodies import FLAG, RequestBody, text


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilitiesRecord:
    """Capabilities of a channel."""

    inbound: Literal["none", "polling", "webhook"]
    max_length: int | None
    chunk_at: int | None
    parse_modes: list[str]
    markdown: bool


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
class SendMessage(RequestBody):
    """Message to send."""

    channel: Annotated[str, Written(TextType(max_chars=100))]
    target: Annotated[str, Written(TextType(max_chars=500))]
    message: Annotated[str, Written(TextType(max_chars=400000), examples=("The backup has finished",))]
    parse_mode: Annotated[str, text(20), "One of the `parse_modes` of the channel."] = ""
    subject: Annotated[str, text(500), "First line of the message; some channels show it separately."] = ""
    queue: Annotated[bool, FLAG, "Queue the message durably instead of sending it now."] = False
    dry_run: Annotated[bool, FLAG, "Only return the parts that would be sent."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage(SendResult):
    """Result of one message."""

    message_id: str | None = None
    code: str | None = None
    attempts: int = 0
    parts: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """One of the messages into which a text is split."""

    text: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Messages that would be sent."""

    parts: list[PartRecord]
    warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """Queued message."""

    id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMessage(RequestBody):
    """Message for every target of a profile."""

    message: Annotated[str, Written(TextType(max_chars=400000))]


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
    207: {"model": ProfileResult, "description": "Some targets received the message."},
    422: {"model": ProfileResult, "description": "No target received the message. Retrying cannot help."},
    502: {"model": ProfileResult, "description": "No target received the message. Retrying may help."},
}
