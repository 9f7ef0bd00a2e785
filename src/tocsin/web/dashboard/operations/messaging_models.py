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
    """What a channel can do."""

    inbound: Literal["none", "polling", "webhook"]
    max_length: int | None
    chunk_at: int | None
    parse_modes: list[str]
    markdown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTestRecord:
    """The last time that the credentials of a channel were tested."""

    ok: bool
    at: Time
    message: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRecord:
    """One of the channels, configured or not."""

    channel: str
    label: str
    configured: bool
    available: Annotated[bool, "Whether it can run on this platform."]
    missing: Annotated[list[str], "The settings that it needs."]
    capabilities: CapabilitiesRecord
    default_target: str | None
    state: Literal["unconfigured", "configured", "ok", "failing"]
    last_test: LastTestRecord | None
    last_sent_at: Time | None
    sent_24h: int
    failed_24h: int
    retry_after_until: Annotated[Time | None, "Until when the provider throttles the account."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelList:
    """All channels."""

    items: list[ChannelRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTarget:
    """One target of a profile."""

    channel: str
    target: str
    usable: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileError:
    """A mistake in a file."""

    line: int
    key: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileUseRecord:
    """What sends to a profile."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRecord:
    """A notification profile."""

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
    """A message to send."""

    channel: Annotated[str, Written(TextType(max_chars=100))]
    target: Annotated[str, Written(TextType(max_chars=500))]
    message: Annotated[str, Written(TextType(max_chars=400000), examples=("The backup has finished",))]
    parse_mode: Annotated[str, text(20), "One of the channel's `parse_modes`."] = ""
    subject: Annotated[str, text(500), "Becomes the first line; some channels show it apart."] = ""
    queue: Annotated[bool, FLAG, "Queue it durably instead of sending it now."] = False
    dry_run: Annotated[bool, FLAG, "Only show the parts that would be sent."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage(SendResult):
    """The outcome of one message, and the facts behind it."""

    message_id: str | None = None
    code: str | None = None
    attempts: int = 0
    parts: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """One of the messages that a text is sent as."""

    text: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What would be sent."""

    parts: list[PartRecord]
    warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """A message in the queue."""

    id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMessage(RequestBody):
    """A message for every target of a profile."""

    message: Annotated[str, Written(TextType(max_chars=400000))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileResult:
    """The outcome of one fan-out."""

    profile: str
    ok: bool
    sent: int
    failed: int
    results: list[SendResult]


# The answer is a send result whenever a channel was called.
OUTCOMES: dict[int | str, dict[str, Any]] = {
    404: {"model": SentMessage, "description": "The channel is unknown or not configured; a problem for other causes."},
    422: {"model": SentMessage, "description": "Trying again cannot help; a problem where the body is not valid."},
    502: {"model": SentMessage, "description": "Nothing was sent, and trying again may help."},
    503: {"model": SentMessage, "description": "The provider throttles; `Retry-After` says for how long."},
    504: {"model": SentMessage, "description": "It may have been sent: repeat it only with the same Idempotency-Key."},
}
FAN_OUT: dict[int | str, dict[str, Any]] = {
    207: {"model": ProfileResult, "description": "Some targets got the message."},
    422: {"model": ProfileResult, "description": "No target got it, and trying again cannot help."},
    502: {"model": ProfileResult, "description": "No target got it, and trying again may help."},
}
