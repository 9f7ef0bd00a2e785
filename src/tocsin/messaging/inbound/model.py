"""One received event on its way: its record, its states, and where it waits.

new → working → replying → answered | ignored | failed; without a reply, `replying` is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.messaging.inbound.handling import Reply

# What a person waits for with a finger on the button: it never stands behind a backlog.
URGENT = frozenset({MessageKind.COMMAND, MessageKind.CALLBACK})

Chat = tuple[str, str]  # channel and chat


class InboxStatus(StrEnum):
    """Where a received event stands."""

    NEW = "new"
    WORKING = "working"  # a handler may be at it
    REPLYING = "replying"  # the outcome and its replies are known; they may not be queued yet
    ANSWERED = "answered"
    IGNORED = "ignored"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """The place of an open event in its lane; `seq` is the order in which events came."""

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
    ending: str = ""  # what it will end as, once its replies are queued
    reason: str = ""
    finished_at: float | None = None
    message: InboundMessage | None = None  # nothing once it is old
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class Backlog:
    """The open events of all processes."""

    counts: Mapping[InboxStatus, int] = field(default_factory=dict)
    oldest_at: float | None = None  # when the one that has waited for longest was accepted

    @property
    def open(self) -> int:
        """How many there are."""
        return sum(self.counts.values())
