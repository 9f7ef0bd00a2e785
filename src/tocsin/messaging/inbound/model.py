"""A received event: its record and its states.

new → working → replying → answered | ignored | failed; without a reply, `replying` is skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.messaging.inbound.handling import Reply

# A person is waiting for these, so they never wait behind a backlog.
URGENT = frozenset({MessageKind.COMMAND, MessageKind.CALLBACK})

Chat = tuple[str, str]  # channel and chat


class InboxStatus(StrEnum):
    """The state of a received event."""

    NEW = "new"
    WORKING = "working"  # a handler may be working on it
    REPLYING = "replying"  # outcome and replies are stored; the replies may not be queued yet
    ANSWERED = "answered"
    IGNORED = "ignored"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """An open event in its lane; `seq` is the order of arrival."""

    seq: int
    id: str
    chat: Chat
    urgent: bool


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """The record of one event. Times are Unix seconds."""

    seq: int
    id: str
    channel: str
    chat: str
    kind: str
    status: InboxStatus
    accepted_at: float
    attempts: int = 0
    ending: str = ""  # its final state, once its replies are queued
    reason: str = ""
    finished_at: float | None = None
    message: InboundMessage | None = None  # None once the content has been pruned
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class Backlog:
    """The open events of all processes."""

    counts: Mapping[InboxStatus, int] = field(default_factory=dict)
    oldest_at: float | None = None  # when the oldest was accepted

    @property
    def open(self) -> int:
        """The number of open events."""
        return sum(self.counts.values())
